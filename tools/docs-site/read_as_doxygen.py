#!/usr/bin/env python3
"""read_as_doxygen.py ROOT FILE: a header or a page as Doxygen wants it, on standard output, line for line.

Headers have plain comments before declarations and behind members; here these become Doxygen's, with every character
taken as it is. "X: …" at the head of a file that defines the class X is the description of both. Headings of pages get
the names by which GitHub links to them, and links to what is no page of the site become plain text.
"""
import os
import re
import sys

PAGE_FOLDERS = ("docs", "profiles")
PAGES_AT_TOP = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")
ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "*": "&lowast;"}


def literal(text):
    """Nothing in it is a command, a tag or a mark of Markdown, but what stands between backquotes is code."""
    parts = re.split(r"(`[^`]*`)", text)
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r'[\\&<>@#%*"$]', lambda mark: ENTITIES.get(mark[0], "\\" + mark[0]), parts[i])
    return "".join(parts)


def line_of(comment):
    """What stands behind the slashes; a line of code where it is indented."""
    said = literal(comment.strip())
    return f"<br><code>{said}</code>" if comment.startswith("   ") and said else said


def head_of(lines, name):
    """The comment at the head of a header, as that of the file and of the class that it names; and where it ends."""
    end = next(i for i, line in enumerate(lines) if not line.startswith("//"))
    said = [line_of(line[2:]) for line in lines[:end]]
    if not said:
        return [], 0
    of_file = f"/** \\file {name} <br>" + " ".join(said) + " */"
    word = re.match(r"(\w+)(?:, \w+)*: ", lines[0][2:].strip())
    is_class = word and re.search(rf"^(class|struct) {word[1]}\b[^;]*{{", "\n".join(lines), re.MULTILINE)
    if not is_class or lines[end] != "#pragma once":
        return [of_file] + [""] * (end - 1), end
    return [f"{of_file} /** \\class pt::{word[1]}"] + said[:-1] + [said[-1] + " */"], end + 1


def header(lines, name):
    out, begin = head_of(lines, name)
    hidden = False  # specialisations in std, which Doxygen cannot place
    for i, line in enumerate(lines[begin:], begin):
        if line.startswith("template <") and i + 1 < len(lines) and lines[i + 1].startswith("struct std::hash<"):
            hidden = True
            out.append("/** \\cond */ " + line)
            continue
        if hidden and line == "};":
            hidden = False
            out.append(line + " /** \\endcond */")
            continue
        before = re.match(r"^(\s*)//( .*|)$", line)
        behind = re.match(r'^([^"]*?[;,{}\w]|.*[;,{])\s+// (.*)$', line)
        if before:
            out.append(f"{before[1]}/// {line_of(before[2])}")
        elif behind and not behind[1].lstrip().startswith(("}", "#")):
            out.append(f"{behind[1]}  ///< {literal(behind[2])}")
        else:
            out.append(line)
    return out


def slug(heading):
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


def label(page, name):
    """Labels are one name space for all pages."""
    return re.sub(r"\W", "_", os.path.splitext(page)[0]) + "_" + name


def is_page(path):
    return path.endswith(".md") and (path in PAGES_AT_TOP or path.startswith(tuple(f"{f}/" for f in PAGE_FOLDERS)))


def link(match, page):
    text, target = match[1], match[2]
    if "://" in target:
        return match[0]
    path, _, anchor = target.partition("#")
    path = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
    if not is_page(path):
        return text
    return f"[{text}](@ref {label(path, anchor)})" if anchor else match[0]


def page_of(lines, name):
    out, code = [], False
    for line in lines:
        if line.lstrip().startswith("```"):
            code = not code
        heading = re.match(r"^(#+) (.*)$", line)
        if code:
            out.append(line)
        elif heading and len(heading[1]) > 1:
            out.append(f"{line} {{#{label(name, slug(heading[2]))}}}")
        else:
            out.append(re.sub(r"(?<!!)\[([^\[\]]*)\]\(([^)\s]+)\)", lambda match: link(match, name), line))
    return out


def main():
    root, path = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    name = os.path.relpath(path, root)
    print("\n".join(page_of(lines, name) if name.endswith(".md") else header(lines, name.removeprefix("include/"))))


main()
