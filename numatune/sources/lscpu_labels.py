"""The labels that lscpu prints, by language, and the words of its tables.

Facts of every release from 2.16 to 2.43-devel: the msgids of sys-utils/lscpu.c and their
translations in po/*.po, https://github.com/util-linux/util-linux (read at 39465c7, 2026-08-20).
"#" stands for the number of a NUMA node, "|" between spellings of different releases. The colon
behind a label is left out; some translations forgot it.
"""

from __future__ import annotations

ENGLISH: dict[str, str] = {
    "architecture": "Architecture",
    "cpus": "CPU(s)",
    "online": "On-line CPU(s) list",
    "online_mask": "On-line CPU(s) mask",
    "offline": "Off-line CPU(s) list",
    "offline_mask": "Off-line CPU(s) mask",
    "threads": "Thread(s) per core",
    "cores": "Core(s) per socket",
    "cluster_cores": "Core(s) per cluster",
    "sockets": "Socket(s)|CPU socket(s)",
    "clusters": "Cluster(s)",
    "book_sockets": "Socket(s) per book",
    "physical_sockets": "Physical sockets",
    "nodes": "NUMA node(s)",
    "node_cpus": "NUMA node# CPU(s)",
    "vendor": "Vendor ID",
    "model": "Model name",
    "hypervisor": "Hypervisor vendor",
    "flags": "Flags",
    # Of no use here, but each ends the value before it where lines were run together.
    "": "CPU op-mode(s)|Address sizes|Byte Order|BIOS Vendor ID|BIOS Model name|BIOS CPU family"
    "|Machine type|CPU family|Model|Stepping|Microcode version|Frequency boost|CPU MHz"
    "|CPU max MHz|CPU min MHz|CPU dynamic MHz|CPU static MHz|CPU(s) scaling MHz|BogoMIPS"
    "|Dispatching mode|Book(s)|Book(s) per drawer|Drawer(s)|Physical chips|Physical cores/chip"
    "|Virtualization|Virtualization type|Virtualization features|Hypervisor|ISA|MMU|NUMA"
    "|Caches (sum of all)|Caches|L1 cache|L1d cache|L1i cache|L2 cache|L2d cache|L2i cache"
    "|L3 cache|L4 cache|L1d|L1i|L2|L3|Vulnerabilities|Vulnerability Gather data sampling"
    "|Vulnerability Itlb multihit|Vulnerability L1tf|Vulnerability Mds|Vulnerability Meltdown",
    # `virsh nodeinfo` has lscpu's labels, but counts the sockets of one node.
    "virsh": "NUMA cell(s)",
}

# fmt: off
TRANSLATED: dict[str, dict[str, str]] = {
    "ar": {
        "architecture": "البنية", "cpus": "وحدات المعالجة",
        "online": "قائمة وحدات المعالجة المتصلة",
        "offline": "قائمة وحدة (وحدات) المعالجة المركزية غير المتصلة", "threads": "خيوط لكل نواة",
        "cores": "نوى لكل مقبس", "cluster_cores": "نوى لكل عنقود", "sockets": "مقابس",
        "clusters": "عناقيد", "nodes": "عقدة (عقد) NUMA",
        "node_cpus": "وحدة (وحدات) المعالجة لعقدة NUMA #", "vendor": "معرف البائع",
        "model": "اسم الطراز", "hypervisor": "بائع فرط المراقب", "flags": "أعلام",
    },
    "cs": {
        "architecture": "Architektura", "cpus": "Počet CPU", "online": "Seznam zapnutých CPU",
        "offline": "Seznam vypnutých CPU", "threads": "Vláken na jádro",
        "cores": "Jader na patici", "cluster_cores": "Jader na klastr",
        "sockets": "Patic|Patic CPU", "clusters": "Klastrů", "nodes": "Uzly NUMA",
        "node_cpus": "CPU NUMA uzlu #", "vendor": "ID výrobce", "model": "Název modelu",
        "hypervisor": "Výrobce hypervizoru", "flags": "Příznaky",
    },
    "da": {
        "architecture": "Arkitektur", "cpus": "CPU'er", "online": "Tilkoblet cpu(er) liste",
        "offline": "Frakoblet cpu(er) liste", "threads": "Tråde per kerne",
        "cores": "Kerner per sokkel", "sockets": "Sokler|CPU-sokler", "nodes": "NUMA-knuder",
        "node_cpus": "NUMA-knuder# CPU'er", "vendor": "Leverandør-id", "model": "Modelnavn",
        "hypervisor": "Hypervisorleverandør", "flags": "Flag",
    },
    "de": {
        "architecture": "Architektur", "online": "Liste der Online-CPU(s)",
        "offline": "Liste der Offline-CPU(s)", "threads": "Thread(s) pro Kern",
        "cores": "Kern(e) pro Socket|Kern(e) pro Sockel", "cluster_cores": "Kern(e) pro Cluster",
        "sockets": "Sockel", "clusters": "Cluster", "nodes": "NUMA-Knoten",
        "node_cpus": "NUMA-Knoten# CPU(s)", "vendor": "Anbieterkennung", "model": "Modellname",
        "hypervisor": "Hypervisor-Anbieter", "flags": "Markierungen",
    },
    "es": {
        "architecture": "Arquitectura", "online": "Lista de la(s) CPU(s) en línea",
        "offline": "Lista de la(s) CPU(s) fuera de línea",
        "threads": "Hilo(s) de procesamiento por núcleo", "cores": "Núcleo(s) por «socket»",
        "cluster_cores": "Núcleo(s) por «cluster»", "sockets": "«Socket(s)»",
        "clusters": "«Cluster(s)»", "nodes": "Modo(s) NUMA", "node_cpus": "CPU(s) del nodo NUMA #",
        "vendor": "ID de fabricante", "model": "Nombre del modelo",
        "hypervisor": "Fabricante del hipervisor", "flags": "Indicadores",
    },
    "eu": {
        "threads": "Core bakoitzeko hari kopurua", "cores": "Socket bakoitzeko core kopurua",
        "sockets": "CPU socketak", "nodes": "NUMA noduak", "vendor": "Fabrikatzailearen IDa",
        "hypervisor": "Hypervisor-earen fabrikatzailea",
    },
    "fi": {
        "model": "Mallinimi", "flags": "Liput",
    },
    "fr": {
        "cpus": "microprocesseur(s)|Processeur(s)",
        "online": "Liste de microprocesseur(s) en ligne|Liste de processeur(s) en ligne",
        "offline": "Liste de microprocesseur(s) hors ligne|Liste de processeur(s) hors ligne",
        "threads": "Thread(s) par coeur|Thread(s) par cœur",
        "cores": "Coeur(s) par support CPU|Cœur(s) par socket",
        "cluster_cores": "Cœur(s) par cluster",
        "sockets": "Support(s) CPU|Socket(s) de microprocesseur",
        "nodes": "Noeud(s) NUMA|Nœud(s) NUMA",
        "node_cpus": "Nœud(s) NUMA# microprocesseur(s)|Nœud NUMA # de processeur(s)",
        "vendor": "ID du vendeur|identifiant constructeur|Identifiant constructeur",
        "model": "Nom de modèle", "hypervisor": "Vendeur hyperviseur|Constructeur d'hyperviseur",
        "flags": "Drapaux|Drapeaux",
    },
    "gl": {
        "architecture": "Arquitectura", "sockets": "Socket(s) da CPU", "nodes": "Nodo(s) NUMA",
        "vendor": "ID do fabricante", "hypervisor": "Fabricante do hypervisor",
    },
    "hr": {
        "architecture": "Arhitektura", "cpus": "CPU(-a)", "online": "Popis online CPU-a",
        "offline": "Popis offline CPU-a", "threads": "Dretva po jezgri",
        "cores": "Jezgra po podnožju", "cluster_cores": "Jezgr(a/e) po klasteru",
        "sockets": "CPU podnožja", "clusters": "Klaster(i)", "nodes": "NUMA čvor(ovi)",
        "vendor": "ID proizvođača", "model": "Ime modela", "hypervisor": "Proizvođač hipervizora",
        "flags": "Flagovi",
    },
    "id": {
        "threads": "Thread(s) setiap inti", "cores": "Inti setiap soket", "sockets": "CPU soket",
        "nodes": "Titik NUMA", "vendor": "ID Pembuat", "hypervisor": "Pembuat Hypervisor",
    },
    "ja": {
        "architecture": "アーキテクチャ", "cpus": "CPU",
        "online": "オンラインになっている CPU のリスト",
        "offline": "オフラインになっている CPU のリスト", "threads": "コアあたりのスレッド数",
        "cores": "ソケットあたりのコア数", "cluster_cores": "クラスタあたりのコア数",
        "sockets": "ソケット数|CPUソケット数", "clusters": "クラスタ数",
        "nodes": "NUMAノード|NUMA ノード数", "node_cpus": "NUMAノード # CPU|NUMA ノード # CPU",
        "vendor": "ベンダーID|ベンダー ID", "model": "モデル名",
        "hypervisor": "ハイパーバイザーベンダー|ハイパーバイザのベンダー", "flags": "フラグ",
    },
    "ka": {
        "architecture": "არქიტექტურა", "cpus": "CPU", "nodes": "NUMA კვანძ(ებ)-ი",
        "vendor": "მომწოდებლის ID", "model": "Მოდელის სახელი", "flags": "ალმები",
    },
    "ko": {
        "architecture": "아키텍처", "cpus": "CPU", "online": "온라인 CPU 목록",
        "offline": "오프라인 CPU 목록", "threads": "코어 당 스레드", "cores": "소켓 당 코어 수",
        "cluster_cores": "클러스터 당 코어", "sockets": "소켓", "clusters": "클러스터",
        "nodes": "NUMA 노드", "node_cpus": "NUMA 노드# CPU", "vendor": "제조자 ID",
        "model": "모델 이름", "hypervisor": "하이퍼바이저 제조", "flags": "플래그",
    },
    "nl": {
        "architecture": "Architectuur", "cpus": "CPU('s)|CPU's",
        "online": "Online CPU('s)-lijst|Online CPU's-lijst",
        "offline": "Offline CPU('s)-lijst|Offline CPU's-lijst", "threads": "Draden per kern",
        "cores": "Kern(en) per voet|Kernen per voet", "cluster_cores": "Kernen per cluster",
        "sockets": "CPU-voet(en)|CPU-voeten", "nodes": "NUMA-node(s)|NUMA-nodes",
        "node_cpus": "NUMA-node# CPU('s)", "vendor": "Producent-ID", "model": "Modelnaam",
        "hypervisor": "Hypervisorproducent", "flags": "Vlaggen",
    },
    "pl": {
        "architecture": "Architektura", "cpus": "CPU", "online": "Lista aktywnych CPU",
        "offline": "Lista nieaktywnych CPU", "threads": "Wątków na rdzeń",
        "cores": "Rdzeni na gniazdo", "cluster_cores": "Rdzeni na klaster",
        "sockets": "Gniazd|Gniazd CPU", "clusters": "Klastrów", "nodes": "Węzłów NUMA",
        "node_cpus": "Procesory węzła NUMA #", "vendor": "ID producenta", "model": "Nazwa modelu",
        "hypervisor": "Producent hiperwizora|Producent hipernadzorcy", "flags": "Flagi",
    },
    "pt": {
        "architecture": "Arquitectura", "online": "Lista das CPUs online",
        "offline": "Lista das CPUs offline", "threads": "Tópicos por núcleo",
        "cores": "Núcleos por socket", "cluster_cores": "Núcleos por cluster",
        "sockets": "Sockets", "nodes": "Nós NUMA", "node_cpus": "CPUs de nó# NUMA",
        "vendor": "ID de fornecedor", "model": "Nome do modelo",
        "hypervisor": "Fornecedor do hipervisor", "flags": "Bandeiras",
    },
    "pt_BR": {
        "architecture": "Arquitetura", "online": "Lista de CPU(s) on-line",
        "offline": "Lista de CPU(s) off-line", "threads": "Thread(s) per núcleo",
        "cores": "Núcleo(s) por soquete|Núcleo(s) por socket",
        "cluster_cores": "Núcleo(s) por cluster", "sockets": "Soquete(s)",
        "nodes": "Nó(s) de NUMA", "node_cpus": "CPU(s) de nó# NUMA", "vendor": "ID de fornecedor",
        "model": "Nome do modelo",
        "hypervisor": "Fabricante do hypervisor|Fabricante do hipervisor", "flags": "Opções",
    },
    "ro": {
        "architecture": "Arhitectura", "cpus": "CPU-uri",
        "online": "Lista CPU-urilor în linie (conectate)",
        "offline": "Lista CPU-urilor în afara liniei (deconectate)",
        "threads": "Fire de execuție pe nucleu", "cores": "Nuclee pe soclu",
        "cluster_cores": "Nuclee pe cluster", "sockets": "Socluri", "clusters": "Clustere",
        "nodes": "Noduri NUMA", "node_cpus": "CPU-uri pe nodul NUMA #",
        "vendor": "Identificatorul producătorului", "model": "Numele modelului",
        "hypervisor": "Fabricant hipervizor", "flags": "Fanioane",
    },
    "ru": {
        "architecture": "Архитектура", "cores": "Ядер на сокет", "sockets": "Сокетов",
        "vendor": "ID прроизводителя", "model": "Имя модели",
        "hypervisor": "Разработчик гипервизора", "flags": "Флаги",
    },
    "sr": {
        "architecture": "Архитектура", "cpus": "Процесори", "online": "Списак присутних процесора",
        "offline": "Списак одсутних процесора", "threads": "Нити по језгру",
        "cores": "Језгра по прикључници", "cluster_cores": "Језгра по кластеру",
        "sockets": "Прикључнице", "clusters": "Кластер(и)", "nodes": "NUMA чвор(ови)",
        "node_cpus": "NUMA чвор# процесора", "vendor": "ИД произвођача", "model": "Назив модела",
        "hypervisor": "Произвођач хипервизора", "flags": "Опције",
    },
    "sv": {
        "architecture": "Arkitektur", "cpus": "CPU(er)", "online": "Lista över aktiva CPU(er)",
        "offline": "Lista över inaktiva CPU(er)", "threads": "Tråd(ar) per kärna",
        "cores": "Kärn(or) per uttag", "cluster_cores": "Kärnor per kluster", "sockets": "Uttag",
        "clusters": "Kluster", "nodes": "NUMA nod(er)", "node_cpus": "NUMA-nod# CPU(er)",
        "vendor": "Tillverkar-ID", "model": "Modellnamn", "hypervisor": "Hypervisortillverkare",
        "flags": "Flaggor",
    },
    "tr": {
        "architecture": "Mimari", "cpus": "İşlemciler", "online": "Çevrimiçi işlemci(ler) listesi",
        "offline": "Çevrimiçi işlemci listesi", "threads": "Çekirdek başına iş parçacığı",
        "cores": "Soket başına çekirdek", "sockets": "Soket(ler)", "nodes": "NUMA düğümü(leri)",
        "node_cpus": "NUMA düğüm# işlemci", "vendor": "Sağlayıcı Kimliği", "model": "Modem ismi",
        "hypervisor": "Hypervizör sağlayıcı", "flags": "Bayraklar",
    },
    "uk": {
        "architecture": "Архітектура", "cpus": "CPU|Процесори", "online": "Список робочих ЦП",
        "offline": "Список вимкнених ЦП", "threads": "Потоків на ядро", "cores": "Ядер на сокет",
        "cluster_cores": "Ядер на кластер", "sockets": "Сокети", "clusters": "Кластери",
        "nodes": "Вузли NUMA", "node_cpus": "Процесори вузла# NUMA",
        "vendor": "Ідентифікатор виробника", "model": "Назва моделі",
        "hypervisor": "Виробник гіпервізора", "flags": "Прапорці",
    },
    "vi": {
        "architecture": "Kiến trúc", "cpus": "CPU", "online": "Danh sách CPU trực tuyến",
        "offline": "Danh sách CPU ngoại tuyến", "threads": "Mạch mỗi lõi|Số tuyến mỗi lõi",
        "cores": "Lõi mỗi ổ cắm|Lõi mỗi ổ cắm (socket)|Số lõi mỗi đế cắm",
        "sockets": "Ổ cắm|Ổ cắm (socket)|Số đế cắm|Ổ cắm CPU", "nodes": "Nút NUMA",
        "node_cpus": "CPU nút# NUMA", "vendor": "Mã số nhà sản xuất|ID nhà sản xuất",
        "model": "Tên mô hình",
        "hypervisor": "Nhà sản xuất bộ mô phòng đồng thời|Nhà cung cấp bộ ảo hóa",
    },
    "zh_CN": {
        "architecture": "架构", "cpus": "CPU", "online": "在线 CPU 列表",
        "offline": "离线 CPU 列表", "threads": "每个核的线程数", "cores": "每个座的核数",
        "sockets": "座", "nodes": "NUMA 节点", "node_cpus": "NUMA 节点# CPU", "vendor": "厂商 ID",
        "model": "型号名称", "hypervisor": "超管理器厂商", "flags": "标记",
    },
    "zh_TW": {
        "architecture": "架構", "threads": "每核心執行緒數", "cores": "每通訊端核心數",
        "sockets": "CPU 通訊端", "nodes": "NUMA 節點", "vendor": "供應商識別號",
        "hypervisor": "Hypervisor 供應商",
    },
}
#: What the column ONLINE shows, in lower case; `-p` has single letters. Left out are those that
#: mean yes in one language and no in another (E, K).
YES = frozenset((
    "yes", "y", "true", "sí", "si", "ja", "jah", "bai", "jaa", "oui", "da", "igen", "ya", "да",
    "tak", "sim", "evet", "có", "是", "نعم", "áno", "ano", "დიახ", "j", "s", "o", "d", "д", "t",
    "a", "c",
))
NO = frozenset((
    "no", "n", "false", "nein", "nej", "nee", "nie", "não", "nao", "ne", "не", "нет", "н", "ei",
    "ez", "non", "nem", "tidak", "nu", "hayır", "không", "否", "لا", "h", "ჩრდ",
))

#: Columns of `lscpu -e` and `-p`; that of the caches is headed by their names ("L1d:L1i:L2").
COLUMNS = frozenset((
    "BOGOMIPS", "CPU", "CORE", "SOCKET", "CLUSTER", "NODE", "BOOK", "DRAWER", "CACHE",
    "POLARIZATION", "ADDRESS", "CONFIGURED", "ONLINE", "MICROCODE", "MMU", "MHZ", "SCALMHZ%",
    "MAXMHZ", "MINMHZ", "MODELNAME",
))
# fmt: on
