"""The page of NT118, other-pools-oversubscribe."""

from numatune.rules.rule import Page

PAGE = Page(
    why="""\
ktransformers and kt-kernel run inside a PyTorch process. PyTorch has a pool
of its own for what it computes on the CPU (intra-op): MKL_NUM_THREADS, else
OMP_NUM_THREADS says how many threads, and without both there is one a core.
The pool neither knows of the workers nor looks at a CPU quota:

  OMP_NUM_THREADS=96 on 48 CPUs: two of its threads on every CPU, and a
  pinned worker under both

  docker run --cpus 8 on 48 cores: 48 threads use up the quota of a period
  in a sixth of it, and then the workers stand still, too

On a host of 368 cores where each process sized its pool to all of them, a
cap raised the speed 1.3 to 1.75 times (training, pull request 4031 of
torchtitan).
""",
    look="""\
python -c "import torch; print(torch.__config__.parallel_info())"
ps -L -o tid,psr,pcpu,comm -p PID
cat /sys/fs/cgroup/cpu.stat            nr_throttled
""",
    fix="""\
export OMP_NUM_THREADS=8       PyTorch; the workers have their own options
                               (--cpu_infer, --kt-cpuinfer)
torch.set_num_threads(8)       in a program; it goes before both variables
""",
    harmless="""\
Where PyTorch computes nothing on the CPU, because all but the experts is on a
GPU, its pool is not even started.
""",
)
