#!/usr/bin/env python3
"""Writes the figures of README.md and docs/measurements.md from docs/figures.json, so that they say the same.

  figures.py                  rewrites the blocks between <!-- figures:NAME --> and <!-- /figures --> in both pages
  figures.py --check          changes nothing; exit 1 and the names of the blocks that differ
  figures.py --peers TSV --machine M --date D --setting TEXT --columns "ONNX Runtime V,OpenVINO V,partitiontuner"
                              takes a new table of peers into the JSON first; TSV has the columns model, ort_us,
                              openvino_us and ours_us; a model that a peer refuses ("-") stays without that figure

Needs Python 3 only.
"""
import argparse
import csv
import json
import math
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FIGURES = ROOT / "docs" / "figures.json"
PAGES = [ROOT / "README.md", ROOT / "docs" / "measurements.md"]


def ratios(peers, column):
    """By model, how many times as long the peer of that column takes as partitiontuner."""
    return {model: row[column] / row[2] for model, row in peers["rows"].items() if row[column] and row[2]}


def mean(values):
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values))


def better_peer(peers):
    """By model, the time of the faster peer over ours."""
    return {model: min(t for t in row[:2] if t) / row[2] for model, row in peers["rows"].items()
            if row[2] and any(row[:2])}


def peer_summary(peers):
    first, second = (column.rsplit(" ", 1)[0] for column in peers["columns"][:2])
    better = better_peer(peers)
    behind = sorted((ratio, model) for model, ratio in better.items() if ratio < 1)
    text = (f"Over {len(peers['rows'])} networks on machine {peers['machine']} ({peers['date']}), partitiontuner is "
            f"{mean(ratios(peers, 0).values()):.2f} times as fast as {first} and {mean(ratios(peers, 1).values()):.2f} "
            f"times as fast as {second} in the geometric mean, and {mean(better.values()):.2f} times as fast as the "
            f"better of the two on each network. ")
    if behind:
        text += "It is behind the better one on " + ", ".join(f"{model} ({ratio:.2f})" for ratio, model in behind) + "."
    else:
        least = min(better, key=better.get)
        text += f"The narrowest lead is {better[least]:.2f} ({least})."
    return fold(text)


def fold(text, width=120):
    lines, line = [], ""
    for word in text.split():
        if line and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    return "\n".join(lines + [line])


def peer_table(peers):
    cell = lambda value, form: format(value, form) if value else "-"
    lines = ["| network | " + " | ".join(peers["columns"]) + " | vs the first | vs the second |", "|---|---|---|---|---|---|"]
    by_column = [ratios(peers, 0), ratios(peers, 1)]
    for model in sorted(peers["rows"]):
        row = peers["rows"][model]
        lines.append(f"| {model} | " + " | ".join(cell(t, ".0f") for t in row) + " | " +
                     " | ".join(cell(column.get(model), ".2f") for column in by_column) + " |")
    lines.append(f"| geometric mean | | | | {mean(by_column[0].values()):.2f} | {mean(by_column[1].values()):.2f} |")
    return "\n".join(lines)


BLOCKS = {"peer-summary": lambda f: peer_summary(f["peers"]),
          "peer-setting": lambda f: fold(f"Machine {f['peers']['machine']}, {f['peers']['date']}, mean latency in "
                                         f"{f['peers']['unit']}: {f['peers']['setting']}."),
          "peer-table": lambda f: peer_table(f["peers"])}


def take_peers(arguments):
    rows = {}
    with open(arguments.peers, newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            if row["model"].startswith("#"):
                continue
            rows[row["model"]] = [None if row[c] in ("-", "", None) else float(row[c])
                                  for c in ("ort_us", "openvino_us", "ours_us")]
    return {"date": arguments.date, "machine": arguments.machine, "unit": "microseconds", "setting": arguments.setting,
            "columns": arguments.columns.split(","), "rows": rows}


def write_json(figures):
    text = json.dumps(figures, indent=1)
    number = r"(?:[\d.]+|null)"
    FIGURES.write_text(re.sub(rf"\[\s+({number}),\s+({number}),\s+({number})\s+\]", r"[\1, \2, \3]", text) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    for name in ("peers", "machine", "date", "setting", "columns"):
        parser.add_argument(f"--{name}")
    arguments = parser.parse_args()
    figures = json.loads(FIGURES.read_text())
    if arguments.peers:
        missing = [n for n in ("machine", "date", "setting", "columns") if not getattr(arguments, n)]
        if missing:
            parser.error("--peers needs --" + ", --".join(missing))
        figures["peers"] = take_peers(arguments)
        write_json(figures)
    different, seen = [], set()
    for page in PAGES:
        text = page.read_text()

        def fill(match):
            name = match.group(1)
            if name not in BLOCKS:
                sys.exit(f"{page}: unknown block of figures \"{name}\"; expected one of {', '.join(BLOCKS)}")
            seen.add(name)
            whole = f"<!-- figures:{name} -->\n{BLOCKS[name](figures)}\n<!-- /figures -->"
            if whole != match.group(0):
                different.append(f"{page.relative_to(ROOT)}: {name}")
            return whole

        filled = re.sub(r"<!-- figures:([a-z-]+) -->\n.*?<!-- /figures -->", fill, text, flags=re.S)
        if filled != text and not arguments.check:
            page.write_text(filled)
    if unused := set(BLOCKS) - seen:
        sys.exit(f"no page has the blocks {', '.join(sorted(unused))}")
    if arguments.check and different:
        print("these blocks are not what docs/figures.json says; bench/figures.py rewrites them:", *different, sep="\n  ")
        return 1
    print(f"{len(seen)} blocks " + ("agree with docs/figures.json" if arguments.check else "written"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
