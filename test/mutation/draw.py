#!/usr/bin/env python3
"""Changes code one place at a time, drawn by chance, and asks the tests whether they notice.

  draw.py [--build DIR] [--count N] [--seed S] [--area NAME]... [--jobs N] [--timeout S] [--log FILE] [--at FILE:LINE]

An area is a part of the library with the tests that are to notice (AREAS); each gets an equal share of the mutants. A
mutant's file is compiled without optimisation, linked into a library of its own, and the tests run with that: neither
sources nor objects of the build are touched. A mutant is killed when a test fails, crashes or takes longer than the
timeout. Survivors are printed with their change, and so are those that do not compile. --log: a line of JSON a mutant;
those in it already are not run again. --at: all mutants of that line instead of drawn ones.

Exit 0: all were run, whatever became of them; 2: the build or its tests fail without a mutant. Takes some 10 s of one
core a mutant. Needs Python 3, Ninja, GCC and a configured build with tests (-DPT_UNITE_FILES=ON or OFF).
"""
import argparse, concurrent.futures, json, os, pathlib, random, re, shlex, shutil, subprocess, sys, tempfile, time

sys.dont_write_bytecode = True
from united import united_sources, with_mutant

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LIBRARY = "lib/libpartitiontuner.so"

# name: (files, test programs in the order in which they run)
AREAS = {
    "checker": (["lib/plan/check*.cc", "lib/plan/happens_before.cc", "lib/exec/judge_plan.cc"], ["test_plan", "test_exec"]),
    "memory": (["lib/plan/memory*.cc", "lib/plan/buffers.cc", "lib/plan/lending.cc"], ["test_plan", "test_exec"]),
    "executor": (["lib/exec/*.cc"], ["test_exec", "test_devices"]),
    "loader": (["lib/onnx/*.cc", "lib/onnx/contrib/*.cc"], ["test_onnx"]),
}


# ---- what may be changed ----

def masked(text):
    """The text with comments and what stands between quotes as blanks, of the same length."""
    pattern = r'//[^\n]*|/\*.*?\*/|R"\((?:.*?)\)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
    return re.sub(pattern, lambda m: re.sub(r"[^\n]", " ", m.group()), text, flags=re.S)


def closing(text, opening):
    """Where the parenthesis that opens there closes."""
    depth = 0
    for at in range(opening, len(text)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth == 0:
            return at
    return None


SWAPS = [(" < ", " <= "), (" <= ", " < "), (" > ", " >= "), (" >= ", " > "), (" == ", " != "), (" != ", " == "),
         (" && ", " || "), (" || ", " && "), (" + ", " - "), (" - ", " + "), (" += ", " -= "), (" -= ", " += "),
         ("true", "false"), ("false", "true"), ("std::min", "std::max"), ("std::max", "std::min"),
         (".front()", ".back()"), (".back()", ".front()"), ("continue;", "break;")]


def sites_of(text):
    """All changes: (start, end, what stands there instead, operator)."""
    plain = masked(text)
    for old, new in SWAPS:
        left = r"\b" if old[0].isalpha() else ""
        right = r"\b" if old[-1].isalpha() else ""
        for match in re.finditer(left + re.escape(old) + right, plain):
            if '"' in (text[match.start() - 1], text[match.end()]):
                continue  # texts are put together
            yield match.start(), match.end(), new, "swap"
    for match in re.finditer(r"(?<![\w.])\d+(?![\w.])", plain):
        line = plain[plain.rfind("\n", 0, match.start()) + 1:match.start()]
        if not line.lstrip().startswith("#"):
            yield match.start(), match.end(), str(int(match.group()) + 1), "one more"
    for match in re.finditer(r"\b(?:if|while) (\()", plain):
        end = closing(plain, match.start(1))
        inside = plain[match.start(1) + 1:end] if end else ";"
        if ";" not in inside and not re.search(r"^\s*(?:const )?\w+[\w:<>*& ]* [*&]?\w+ = ", inside):
            yield match.start(1), end + 1, f"(!({text[match.start(1) + 1:end]}))", "negate"
    for match in re.finditer(r"\[(\w+)\](?!\s*[({])", plain):
        if match.group(1) not in ("0", "fallthrough", "nodiscard", "this"):
            yield match.start(1), match.end(1), "0", "index"
    # Whole statements on lines of their own: calls, assignments, early returns.
    for match in re.finditer(r"^[ ]{2,}(?!return\b|else\b|case\b|using\b|for\b|while\b|do\b)([^\n]*;)$", plain, flags=re.M):
        statement = match.group(1)
        before = plain[:match.start()].rstrip()
        if not before or before[-1] not in ";{}":
            continue  # the rest of a statement
        is_call = re.match(r"(?:PT_CHECK_OK)?[\w.:\->\[\]*()]*\(", statement) and statement.count("(") == statement.count(")")
        is_assignment = re.match(r"[\w.\->\[\]*()]+ (?:[|+&-])?= ", statement) or re.match(r"(?:\+\+|--)[\w.\->]+;", statement)
        is_refusal = re.match(r"if \(", statement)
        if is_call or is_assignment or is_refusal:
            yield match.start(1), match.end(1), ";", "delete"


class Mutant:
    def __init__(self, area, file, text, site):
        self.area, self.file = area, file
        start, end, new, self.operator = site
        self.text = text[:start] + new + text[end:]
        self.line = text.count("\n", 0, start) + 1
        first, last = text.rfind("\n", 0, start) + 1, text.find("\n", end)
        self.old = text[first:last]
        self.new = self.text[first:last + len(self.text) - len(text)]
        self.key = f"{file}:{self.line}:{start - first}: {self.operator} {text[start:end]!r} {new!r}"

    def diff(self):
        lines = lambda sign, text: "".join(f"    {sign} {line.strip()}\n" for line in text.splitlines())
        return lines("-", self.old) + lines("+", self.new)


def mutants_of(areas):
    """By area, in the order of files and lines."""
    found = {}
    for area in areas:
        files = sorted({str(path.relative_to(ROOT)) for pattern in AREAS[area][0] for path in ROOT.glob(pattern)})
        found[area] = []
        for file in files:
            text = (ROOT / file).read_text()
            sites = sorted(set(sites_of(text)))
            found[area] += [Mutant(area, file, text, site) for site in sites]
    return found


# ---- building and testing ----

class Failed(Exception):
    pass


def run(command, cwd, timeout=900, **others):
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, errors="replace", timeout=timeout, **others)


class Build:
    def __init__(self, folder, place):
        self.folder, self.place = pathlib.Path(folder).resolve(), pathlib.Path(place)
        entries = json.loads((self.folder / "compile_commands.json").read_text())
        self.library = sorted((self.folder / "lib").glob("libpartitiontuner.so.*.*.*"))[0]
        listed = run(["ninja", "-t", "commands", str(self.library.relative_to(self.folder))], self.folder).stdout
        words = shlex.split(listed.splitlines()[-1])
        self.link = [word for word in words[words.index("&&") + 1:] if word not in (":", "&&")]
        if shutil.which("ld.lld"):
            self.link.append("-fuse-ld=lld")
        self.compile = {}  # those of the library
        for entry in entries:
            words = shlex.split(entry["command"])
            if words[words.index("-o") + 1] in self.link:
                self.compile[str(pathlib.Path(entry["file"]).resolve())] = words
        self.united = united_sources(self.compile)
        self.headers = {}

    def plain(self, words):
        """The words of a compilation, without optimisation and with a precompiled header that fits."""
        words = [word for word in words if word not in ("-Winvalid-pch", "-Werror") and not word.startswith("-O")]
        compiler = next(i for i, word in enumerate(words) if re.search(r"(\+\+|g\+\+-\d+|c\+\+)$", word))
        words = words[compiler:]  # no ccache
        if "-include" in words:
            at = words.index("-include")
            header = words[at + 1]
            del words[at:at + 2]
            options = [word for word in words if word.startswith(("-f", "-std", "-D", "-m"))]
            key = (header, tuple(options))
            if key not in self.headers:
                made = self.place / f"header{len(self.headers)}.h"
                shutil.copy(header, made)
                done = run([words[0], *options, "-O0", "-w", "-x", "c++-header", str(made), "-o", f"{made}.gch"], self.folder)
                if done.returncode:
                    raise Failed(done.stderr[-2000:])
                self.headers[key] = made
            words[1:1] = ["-include", str(self.headers[key])]
        return words + ["-O0", "-w"]

    def make(self, file, text, place):
        """A folder with the library that has this text in the place of the file; None and the reason if there is none."""
        made, source = place / "mutant.o", place / pathlib.Path(file).name
        source.write_text(text)
        name, source = with_mutant(str(ROOT / file), source, self.compile, self.united, place)
        words = self.plain(self.compile[name])
        was = words[words.index("-o") + 1]
        words[words.index("-o") + 1] = str(made)
        words[words.index("-c") + 1] = str(source)
        library = place / self.library.name
        link = [str(made) if word == was else word for word in self.link]
        link[link.index("-o") + 1] = str(library)
        for command in (words, link):
            done = run(command, self.folder)
            if done.returncode:
                return (done.stdout + done.stderr)[-1500:]
        for alias in (self.folder / "lib").glob("libpartitiontuner.so*"):
            if alias.is_symlink():
                (place / alias.name).symlink_to(library.name)
        made.unlink()
        return None

    def test(self, program, place, timeout):
        """None if it passes, else what happened."""
        environment = {**os.environ, "LD_LIBRARY_PATH": str(place), "TMPDIR": str(place)}
        command = ["timeout", "-k", "2", str(timeout), str(self.folder / "bin" / program), "~[slow]", "--abort",
                   "--reporter", "compact"]
        done = run(command, place, timeout + 60, env=environment, stdin=subprocess.DEVNULL)
        if done.returncode == 0:
            return None
        if done.returncode in (124, 137):
            return f"{program} takes more than {timeout} s"
        failed = [line for line in done.stdout.splitlines() if "failed" in line] or done.stderr.splitlines()[-1:]
        where = re.sub(r"^.*?/(test/\S+?:\d+).*", r"\1", failed[0]) if failed else ""
        return f"{program} ends with {done.returncode}: {where[:150]}"


def judge(build, mutant, timeout):
    """(verdict, what happened)"""
    with tempfile.TemporaryDirectory(dir=build.place) as folder:
        place = pathlib.Path(folder)
        error = build.make(mutant.file, mutant.text, place)
        if error:
            return "uncompiled", error.strip().splitlines()[0][-200:]
        for program in AREAS[mutant.area][1]:
            what = build.test(program, place, timeout)
            if what:
                return "killed", what
    return "SURVIVED", ""


def drawn(found, count, seed):
    chosen = []
    for i, (area, mutants) in enumerate(found.items()):
        share = count // len(found) + (i < count % len(found))
        chosen += random.Random(f"{seed} {area}").sample(mutants, min(share, len(mutants)))
    random.Random(seed).shuffle(chosen)
    return chosen


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=ROOT / "build" / "release", help="folder of the build")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--area", action="append", choices=AREAS, help="all if none is named")
    parser.add_argument("--jobs", type=int, default=1, help="mutants at a time; tests of the executor use every core")
    parser.add_argument("--timeout", type=int, default=120, help="seconds for a test program, which needs about 10")
    parser.add_argument("--log", type=pathlib.Path)
    parser.add_argument("--at", metavar="FILE:LINE")
    arguments = parser.parse_args()
    areas = arguments.area or list(AREAS)
    found = mutants_of(areas)
    if arguments.at:
        chosen = [m for mutants in found.values() for m in mutants if f"{m.file}:{m.line}" == arguments.at]
    else:
        chosen = drawn(found, arguments.count, arguments.seed)
    print(f"# seed {arguments.seed}: {len(chosen)} of", ", ".join(f"{len(m)} {a}" for a, m in found.items()), flush=True)
    known = {}
    if arguments.log and arguments.log.exists():
        known = {entry["key"]: entry for entry in map(json.loads, arguments.log.read_text().splitlines())}
    counts = {}
    with tempfile.TemporaryDirectory() as place:
        build = Build(arguments.build, place)
        for area in areas:  # as they are; makes the precompiled headers as well
            file = sorted(path for path in ROOT.glob(AREAS[area][0][0]))[0].relative_to(ROOT)
            same = Mutant(area, str(file), (ROOT / file).read_text(), (0, 0, "", "none"))
            verdict, what = judge(build, same, arguments.timeout)
            if verdict != "SURVIVED":
                raise Failed(f"without a change, {area}: {verdict}: {what}")

        def work(mutant):
            started = time.monotonic()
            entry = known.get(mutant.key)
            if not entry:
                verdict, what = judge(build, mutant, arguments.timeout)
                entry = {"key": mutant.key, "area": mutant.area, "verdict": verdict, "what": what, "diff": mutant.diff(),
                         "seconds": round(time.monotonic() - started, 1)}
                if arguments.log:
                    with open(arguments.log, "a") as log:
                        log.write(json.dumps(entry) + "\n")
            return entry

        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            for mutant, entry in zip(chosen, pool.map(work, chosen)):
                counts.setdefault(entry["area"], {}).setdefault(entry["verdict"], 0)
                counts[entry["area"]][entry["verdict"]] += 1
                print(f"{entry['verdict']}  {mutant.file}:{mutant.line} {mutant.operator}  {entry['what']}", flush=True)
                if entry["verdict"] != "killed":
                    print(entry["diff"], end="", flush=True)
    for area, verdicts in counts.items():
        print(f"# {area}:", ", ".join(f"{n} {verdict}" for verdict, n in sorted(verdicts.items())))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed as error:
        print(error, file=sys.stderr)
        sys.exit(2)
