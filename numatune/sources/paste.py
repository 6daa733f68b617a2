"""Undoing what mailers, terminals, trackers and editors do to the characters of a paste.

Nothing here knows any program's output; `paste_lines` goes on with what is done to lines. Nothing
is undone without evidence of it in the text, and what cannot be undone with certainty is left as
a U+FFFD between the characters, so that no reader takes it for a number.
"""

from __future__ import annotations

import re
from typing import NamedTuple

#: What stands for characters that were lost.
LOST = "\ufffd"


#: What a pager shows at the end of a screen.
PAGER = r"(?m)^[ >|]*(?:--More--|\(END\))[^\n]*\n"


class Cleaned(NamedTuple):
    """A text with "\\n" line ends and plain blanks, and in words what was undone to get it."""

    text: str
    undone: tuple[str, ...]


def clean(text: str) -> Cleaned:
    """Undo the damage to the characters of a text; of harmless blanks and line ends say nothing."""
    text = plain(text.replace("\0", ""))
    undone = []
    for what, undo in (
        ("backslash escapes", without_escapes),
        ("quoted-printable", without_quoted_printable),
        ("terminal colours", without_terminal_codes),
        ("HTML", without_html),
    ):
        changed = undo(text)
        if changed != text:
            undone.append(what)
            text = plain(changed)
    if "--More--" in text or "(END)" in text:
        text = re.sub(PAGER, "", text)
    if "\n\n\n" in text:
        text = re.sub(r"\n\n\n+", "\n\n", text)
    return Cleaned(text, tuple(undone))


# Characters ---------------------------------------------------------------------------------------

BLANKS = (
    "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u202f\u205f\u3000"
)
LINE_ENDS = "\u0085\u2028\u2029"
INVISIBLE = (
    "\u00ad\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060"
    "\u2066\u2067\u2068\u2069\ufeff"
)

#: One character for another: blanks, line ends, dashes, box drawing, and full-width ASCII.
PLAIN = {
    **dict.fromkeys(map(ord, BLANKS), " "),
    **dict.fromkeys(map(ord, LINE_ENDS), "\n"),
    **dict.fromkeys(map(ord, INVISIBLE), None),
    **dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2212"), "-"),
    **dict.fromkeys(map(ord, "\u2014\u2015"), "--"),
    **dict.fromkeys(map(ord, "\u00a6\u2502\u2503\u2551"), "|"),
    **{code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)},
}

MOJIBAKE = "\u00c2[\u00a0 ]|\u00c2(?=[\r\n])"
#: An invisible mark between two digits may be all that is left of a blank, or mean nothing.
DOUBTFUL = rf"(?<=[0-9])[{INVISIBLE}]+(?=[0-9])"


def plain(text: str) -> str:
    """Return a text with ASCII blanks, line ends and dashes in place of their look-alikes."""
    return plain_line_ends(text if text.isascii() else plain_characters(text))


def plain_characters(text: str) -> str:
    """Return a text with the look-alikes of ASCII replaced by ASCII.

    A no-break blank whose UTF-8 was read as Latin-1 comes out as one blank, too.
    """
    text = re.sub(MOJIBAKE, " ", text)
    return re.sub(DOUBTFUL, LOST, text).translate(PLAIN)


def plain_line_ends(text: str) -> str:
    """Return a text whose lines end in "\\n" alone."""
    if "\r" in text:
        text = re.sub(r"\r+\n|\r", "\n", text)
    if "\t" in text or "\v" in text or "\f" in text:
        text = text.replace("\t", " ").replace("\v", "\n").replace("\f", "\n")
    return text


# Escapes ------------------------------------------------------------------------------------------

ESCAPES = {
    "\\r\\n": "\n", "\\n": "\n", "\\r": "\n", "\\t": " ", '\\"': '"', "\\/": "/",
    "\\u00a0": " ", "\\u001b": "\x1b", "\\u003c": "<", "\\u003e": ">",
}  # fmt: skip
ESCAPE = "(?i)" + "|".join(re.escape(key) for key in ESCAPES)


#: A line of a list of strings, as JSON, YAML and Python print them.
QUOTED_LINE = r"(?m)^[ >|#*\[{-]*([\"'])([^\"'\n]*)\1[ ]*[,\]}]{0,3}[ ]*$"
BETWEEN_STRINGS = r"(?<=[\"']), ?(?=[\"'])"


def without_escapes(text: str) -> str:
    """Undo the escapes and quotes of strings in JSON, YAML or a log, where there are three."""
    if text.count("\\n") >= 3:
        text = re.sub(ESCAPE, lambda found: ESCAPES[found.group().lower()], text)
    if '"' not in text and "'" not in text:
        return text
    if len(re.findall(BETWEEN_STRINGS, text)) >= 3:
        text = re.sub(BETWEEN_STRINGS, ",\n", text)
    if len(re.findall(QUOTED_LINE, text)) >= 3:
        text = re.sub(QUOTED_LINE, r"\2", text)
    return text


# Quoted-printable, RFC 2045 section 6.7 -----------------------------------------------------------

SOFT_BREAK = r"[^=\n]=[ ]*\n"
ENCODED = r"(?:=[0-9A-F]{2})+"
#: Encoders break at 76 characters, so a shorter line that ends in "=" is no evidence by itself.
EVIDENCE = r"(?m)^[^\n]{60,}[^=\n]=[ ]*\n|(?:=[0-9A-F]{2}){2}|=(?:20|09)[ ]*\n|=3D"
QUOTE = r"[ ]*[>|#*;%][ >|#*;%]*"


def without_quoted_printable(text: str) -> str:
    """Join soft line breaks and decode "=C2=A0", where the text shows that it is encoded so."""
    if "=" not in text or not re.search(EVIDENCE, text):
        return text
    if re.search(SOFT_BREAK, text):
        text = "\n".join(joined_soft_breaks(text.split("\n")))
    return re.sub(ENCODED, decoded, text)


def joined_soft_breaks(lines: list[str]) -> list[str]:
    """Glue each line that ends in "=" to the next, whose quote marks go if both lines have them."""
    joined: list[str] = []
    parts: list[str] = []
    mark = ""
    for line in lines:
        if parts and mark and line.startswith(mark):
            line = line[len(mark) :]
        elif not parts:
            quote = re.match(QUOTE, line)
            mark = quote.group() if quote else ""
        end = line.rstrip(" ")
        if end.endswith("=") and not end.endswith("=="):
            parts.append(end[:-1])
        else:
            joined.append("".join((*parts, line)))
            parts = []
    if parts:
        joined.append("".join(parts))
    return joined


def decoded(found: re.Match[str]) -> str:
    """Return the characters for a run of "=XX"; bytes that are no UTF-8 become U+FFFD."""
    return bytes.fromhex(found.group().replace("=", "")).decode("utf-8", "replace")


# Terminal codes, ECMA-48 section 5.4 --------------------------------------------------------------

#: An escape character, also as `cat -v` and as a shell's or C's string show it.
ESCAPE_CHARACTER = r"(?:\x1b|\^\[|\\e|\\033|\\x1b|\\u001b)"
CONTROL = (
    rf"{ESCAPE_CHARACTER}\[[0-?]*[ -/]*([@-~])"
    rf"|{ESCAPE_CHARACTER}\][^\x07\x1b\n]*(?:\x07|\x1b\\)"
    r"|\x1b[()][0-9A-Z]|\x1b[=>78@-Z\\-_]"
    r"|\x9b[0-?]*[ -/]*([@-~])"
)
#: Colours whose escape character was lost on the way: "[01;31m", "[K".
BARE_COLOUR = r"\[(?:[0-9]{1,3}(?:;[0-9]{1,3})*)?m|\[K"
OVERSTRIKE = r"[^\n]\x08"


def without_terminal_codes(text: str) -> str:
    """Remove colours and other control sequences; a moved cursor leaves a blank or a line end."""
    if "\x1b" in text or "\x9b" in text or "^[[" in text or "\\e[" in text or "\\033[" in text:
        text = re.sub(CONTROL, moved, text)
    elif "[0m" in text or "[m" in text:
        text = re.sub(BARE_COLOUR, "", text)
    if "\x08" in text:
        text = re.sub(OVERSTRIKE, "", text)
    return text


def moved(found: re.Match[str]) -> str:
    """Return what a control sequence leaves on the line."""
    final = found.group(1) or found.group(2) or ""
    if final and final in "CG":
        return " "
    return "\n" if final and final in "BEHf" else ""


# HTML ---------------------------------------------------------------------------------------------

BREAK = r"(?i)<br\s*/?>\n?"
BLOCK = (
    r"(?i)\n?</?(?:p|div|pre|tr|table|thead|tbody|blockquote|li|ul|ol|h[1-6]|body|html)"
    r"(?:[ \n][^<>]{0,500})?/?>\n?"
)
CELL = r"(?i)</?(?:td|th)(?:[ \n][^<>]{0,500})?>"
INLINE = (
    r"(?i)</?(?:span|code|b|i|u|em|strong|font|a|kbd|samp|tt|small|mark|wbr|bdi|o:p)"
    r"(?:[ \n][^<>]{0,500})?/?>"
)
ENTITY = r"(?i)&(?:[a-z]{2,8}|#[0-9]{1,6}|#x[0-9a-f]{1,5});"


def without_html(text: str) -> str:
    """Turn tags into line ends, blanks or nothing, and entities into their characters.

    Entities go first where the tags themselves are escaped. A "<not available>" stays.
    """
    for _ in range(3):
        if "&" not in text or not re.search(ENTITY, text):
            break
        import html

        text = plain(html.unescape(text))
    if "<" in text:
        text = re.sub(BREAK, "\n", text)
        text = re.sub(BLOCK, "\n", text)
        text = re.sub(CELL, " ", text)
        text = re.sub(INLINE, "", text)
    return text
