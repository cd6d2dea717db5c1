"""Sources that a build compiles together (PT_UNITE_FILES): which file includes which."""
import pathlib
import re


def united_sources(compiled):
    """By source: the file that includes it, of the files that a build compiles."""
    united = {}
    for name in compiled:
        if "/Unity/" in name:
            for source in re.findall(r'#include "([^"]+)"', pathlib.Path(name).read_text()):
                united[source] = name
    return united


def with_mutant(path, mutant, compiled, united, place):
    """What a build compiles to have `path`, and what to compile instead to have the file `mutant` in its place."""
    if path in compiled:
        return path, mutant
    name = united[path]
    whole = place / "united.cc"
    whole.write_text(pathlib.Path(name).read_text().replace(f'"{path}"', f'"{mutant}"'))
    return name, whole
