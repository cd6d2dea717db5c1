#!/usr/bin/env python3
"""Changes the code that makes plans one line at a time, and asks whether CheckPlan notices.

  run.py [--build DIR] [--jobs N] [--only TEXT]

Each mutant (mutants.py) is compiled beside the build, linked into a plan_probe of its own, and run; neither sources nor
objects of the build are touched. A mutant is caught when CheckPlan refuses one of its plans. Exit 0: all are caught; 1:
some are not (named), or a mutant's anchor is not in its file exactly once; 2: the build or its probe fails without one.
Takes some 5 s of one core a mutant. Needs Python 3, Ninja and a configured build.
"""
import argparse, concurrent.futures, json, os, pathlib, shlex, subprocess, sys, tempfile

sys.dont_write_bytecode = True
from mutants import MUTANTS
from united import united_sources, with_mutant

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LEGAL, REFUSED, NO_PLAN = 0, 10, 11  # of plan_probe.cc
TIMEOUT_S = 300


def fail(message, code):
    print(message, file=sys.stderr)
    sys.exit(code)


def mutated(file, anchor, replacement):
    """The file's text with the change; None when the anchor is not there exactly once."""
    text = (ROOT / file).read_text()
    return text.replace(anchor, replacement) if text.count(anchor) == 1 else None


class Build:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder).resolve()
        self.run(["ninja", "-C", str(self.folder), "plan_probe"])
        entries = json.loads((self.folder / "compile_commands.json").read_text())
        self.compile = {str(pathlib.Path(e["file"]).resolve()): shlex.split(e["command"]) for e in entries
                        if "output" not in e or "plan_probe" not in e["output"]}
        self.united = united_sources(self.compile)
        listed = self.run(["ninja", "-C", str(self.folder), "-t", "commands", "plan_probe"])
        link = [line for line in listed.splitlines() if line.startswith(":") or " -o " in line][-1]
        self.link = [word for word in shlex.split(link) if word not in (":", "&&")]
        self.probe = self.link[self.link.index("-o") + 1]

    @staticmethod
    def run(command):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            fail(f"{' '.join(command)}\n{(done.stdout + done.stderr)[-4000:]}", 2)
        return done.stdout

    def make(self, file, text, place):
        """The probe with this text in the place of the file; an error text when it does not compile."""
        source, made, probe = place / pathlib.Path(file).name, place / "mutant.o", place / "probe"
        source.write_text(text)
        name, source = with_mutant(str(ROOT / file), source, self.compile, self.united, place)
        words = list(self.compile[name])
        was = words[words.index("-o") + 1]
        words[words.index("-o") + 1] = str(made)
        words[words.index("-c") + 1] = str(source)
        if "-MF" in words:
            words[words.index("-MF") + 1] = str(place / "mutant.d")
        # Compiled once and run for a second: without optimisation, and so without the precompiled header.
        at = words.index("-include") if "-include" in words else len(words)
        words = words[:at] + words[at + 2:] + ["-O0", "-w"]
        if was not in self.link:
            return None, f"{was} is not linked into plan_probe"
        link = [str(made) if word == was else str(probe) if word == self.probe else word for word in self.link]
        for command in (words, link):
            done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True)
            if done.returncode:
                return None, (done.stdout + done.stderr)[-2000:]
        return probe, ""


def judge(build, mutant):
    """(caught, what happened)"""
    _, file, anchor, replacement = mutant
    text = mutated(file, anchor, replacement)
    if text is None:
        return False, f"its anchor is not in {file} exactly once"
    with tempfile.TemporaryDirectory() as place:
        probe, error = build.make(file, text, pathlib.Path(place))
        if probe is None:
            return False, f"does not compile: {error}"
        try:
            done = subprocess.run([str(probe)], capture_output=True, text=True, timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            return False, f"runs for more than {TIMEOUT_S} s"
    lines = done.stdout.strip().splitlines() or [""]
    if done.returncode == REFUSED:
        return True, next((line for line in lines if "no plan" not in line), lines[-1])
    what = {LEGAL: "every plan is legal", NO_PLAN: f"planners make no plan: {lines[0]}"}
    return False, what.get(done.returncode, f"plan_probe ends with {done.returncode}: {done.stderr[-500:]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=ROOT / "build" / "release", help="folder of the build")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--only", default="", help="mutants whose name holds this")
    arguments = parser.parse_args()
    mutants = [m for m in MUTANTS if arguments.only in m[0]]
    if not mutants or len({m[0] for m in MUTANTS}) != len(MUTANTS):
        fail(f"no mutant is called '{arguments.only}', or two have one name", 2)
    build = Build(arguments.build)
    probe = subprocess.run([build.folder / build.probe], capture_output=True, text=True)
    if probe.returncode != LEGAL:
        fail(f"without a change plan_probe ends with {probe.returncode}: {probe.stdout[-2000:]}", 2)
    missed = 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for mutant, (caught, what) in zip(mutants, pool.map(lambda m: judge(build, m), mutants)):
            missed += not caught
            print(f"{'caught' if caught else 'MISSED'}  {mutant[0]}: {what}", flush=True)
    print(f"# {len(mutants) - missed} of {len(mutants)} mutants caught")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
