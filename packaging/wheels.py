#!/usr/bin/env python3
"""wheels.py OUT [ARCHITECTURE…]: wheels for every Linux with glibc 2.17 (2012) or later, into the folder OUT.

One for the stable interface of Python 3.12 and all later ones, and one each for 3.9, 3.10 and 3.11, of those that are
here: only their headers are used. Each has the package and the program; they need no library but the system's libc.
Everything is compiled by Zig, which builds for other machines and older systems. Runs in the environment of
requirements.txt (make wheels)."""

import base64
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
WORK = ROOT / "build/wheels"
GLIBC = "2.17"
ARCHITECTURES = ["x86_64", "aarch64"]
STABLE = 12  # nanobind builds for the stable interface from Python 3.12 on
OLDER = [9, 10, 11]
NANOBIND = {9: "nanobind==2.9.2"}  # the last line that knows 3.9
NEWEST_NANOBIND = "nanobind==3.1.0"
PATHS = {"PATH": f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"}


def run(*command, **environment):
    done = subprocess.run([str(word) for word in command], cwd=ROOT, env={**os.environ, **PATHS, **environment},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        sys.exit(f"{done.stdout[-4000:]}\nwheels.py: this failed: {' '.join(map(str, command))}")
    return done.stdout.strip()


def interpreter(minor):
    """A Python 3.minor with its headers, or None."""
    home = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv"))
    found = [*sorted(home.glob(f"versions/3.{minor}.*/bin/python3.{minor}")), shutil.which(f"python3.{minor}")]
    for path in filter(None, found):
        ask = "import sysconfig; print(sysconfig.get_path('include'))"
        done = subprocess.run([path, "-c", ask], capture_output=True, text=True)
        if done.returncode == 0 and (pathlib.Path(done.stdout.strip()) / "Python.h").exists():
            return path, done.stdout.strip()
    return None


def nanobind(minor):
    wanted = NANOBIND.get(minor, NEWEST_NANOBIND)
    folder = WORK / wanted
    if not folder.exists():
        run(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", folder, wanted)
    return folder


def prepare(architecture):
    """The compilers and libraries for a machine."""
    place = WORK / architecture
    run(ROOT / "packaging/zig.sh", sys.executable, f"{architecture}-linux-gnu.{GLIBC}", place / "compilers")
    tools = {"CC": "cc", "CXX": "c++", "AR": "ar", "RANLIB": "ranlib"}
    environment = {name: str(place / "compilers" / tool) for name, tool in tools.items()}
    run(ROOT / "packaging/libraries.sh", ROOT / "build/sources", place / "libraries", f"{architecture}-linux-gnu", **environment)
    return place, environment


def configure(place, environment, architecture, python, headers, minor):
    prefix = place / "libraries"
    run("cmake", "-S", ROOT, "-B", place / "build", "-G", "Ninja", "-U*Python*", "-U*nanobind*", "-DCMAKE_BUILD_TYPE=Release",
        "-DCMAKE_SYSTEM_NAME=Linux", f"-DCMAKE_SYSTEM_PROCESSOR={architecture}",
        f"-DCMAKE_C_COMPILER={environment['CC']}", f"-DCMAKE_CXX_COMPILER={environment['CXX']}",
        f"-DCMAKE_AR={environment['AR']}", f"-DCMAKE_RANLIB={environment['RANLIB']}",
        f"-DCMAKE_CXX_FLAGS=-ffile-prefix-map={ROOT}=.", "-DCMAKE_EXE_LINKER_FLAGS=-s", "-DCMAKE_MODULE_LINKER_FLAGS=-s",
        f"-DCMAKE_FIND_ROOT_PATH={prefix}", f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_FIND_ROOT_PATH_MODE_LIBRARY=ONLY",
        "-DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY", "-DCMAKE_FIND_ROOT_PATH_MODE_PACKAGE=BOTH",
        f"-DPython_EXECUTABLE={python}", f"-DPython_INCLUDE_DIR={headers}", "-DKALSTREAM_BUILD_PYTHON=ON",
        "-DKALSTREAM_BUILD_TESTS=OFF", "-DKALSTREAM_BUILD_SHARED=OFF", "-DKALSTREAM_WERROR=OFF", "-DKALSTREAM_KAFKA=ON",
        PKG_CONFIG_LIBDIR=str(prefix / "lib/pkgconfig"), PYTHONPATH=str(nanobind(minor)), CMAKE_CXX_COMPILER_LAUNCHER="")


def build(place, *targets):
    run("cmake", "--build", place / "build", "-j", os.cpu_count(), "--target", *targets)


def take_extension(place):
    """What the build left; removed, so that the next one, which may have another name, is alone."""
    [found] = (place / "build/python/kalstream").glob("_core*.so")
    contents = found.read_bytes()
    found.unlink()
    return contents


def metadata():
    """METADATA as any builder would write it, from pyproject.toml: its text and the release's name."""
    with tempfile.TemporaryDirectory() as folder:
        run(sys.executable, "-c", "import sys, scikit_build_core.build as b; b.prepare_metadata_for_build_wheel(sys.argv[1])", folder)
        [info] = pathlib.Path(folder).glob("*.dist-info")
        return (info / "METADATA").read_bytes(), info.name.removesuffix(".dist-info")


def pack(out, architecture, python_tag, abi_tag, suffix, place, core):
    about, release = metadata()
    system = GLIBC.replace(".", "_")
    platforms = [f"manylinux2014_{architecture}", f"manylinux_{system}_{architecture}"]
    files = {f"kalstream/{path.name}": path.read_bytes() for path in (ROOT / "python/src/kalstream").iterdir() if path.is_file()}
    files[f"kalstream/_core{suffix}"] = core
    files[f"{release}.data/scripts/kalstream"] = (place / "build/kalstream").read_bytes()
    info = f"{release}.dist-info"
    files[f"{info}/METADATA"] = about
    files[f"{info}/WHEEL"] = "".join(
        ["Wheel-Version: 1.0\nGenerator: kalstream\nRoot-Is-Purelib: false\n"] +
        [f"Tag: {python_tag}-{abi_tag}-{platform}\n" for platform in platforms]).encode()
    files[f"{info}/licenses/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    for path in (place / "libraries/licenses").iterdir():
        files[f"{info}/licenses/linked/{path.name}"] = path.read_bytes()
    record = f"{info}/RECORD"
    lines = []
    for name, contents in sorted(files.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(contents).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(contents)}\n")
    files[record] = "".join([*lines, f"{record},,\n"]).encode()

    epoch = int(os.environ.get("SOURCE_DATE_EPOCH") or run("git", "log", "-1", "--format=%ct"))
    date = time.gmtime(max(epoch, 315619200))[:6]  # zip knows no dates before 1980
    wheel = out / f"{release}-{python_tag}-{abi_tag}-{'.'.join(platforms)}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, contents in sorted(files.items(), key=lambda file: (".dist-info/" in file[0], file[0])):
            entry = zipfile.ZipInfo(name, date)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if "/scripts/" in name or name.endswith(".so") else 0o100644) << 16
            archive.writestr(entry, contents)
    print(f"{wheel.name}: {wheel.stat().st_size / 2**20:.1f} MiB", flush=True)


def main():
    out = pathlib.Path(sys.argv[1]).resolve()
    out.mkdir(parents=True, exist_ok=True)
    pythons = {minor: interpreter(minor) for minor in OLDER}
    stable = next((found for found in map(interpreter, range(STABLE, STABLE + 10)) if found), None)
    for minor, found in pythons.items():
        if not found:
            print(f"No wheel for Python 3.{minor}: it is not here with its headers")
    if not stable:
        print(f"No wheel for the stable interface: there is no Python 3.{STABLE} or later with its headers")
    for architecture in sys.argv[2:] or ARCHITECTURES:
        place, environment = prepare(architecture)
        for old in (place / "build/python/kalstream").glob("_core*.so"):
            old.unlink()
        if stable:
            configure(place, environment, architecture, *stable, STABLE)
            build(place, "kalstream_cli", "kalstream_python")
            pack(out, architecture, f"cp3{STABLE}", "abi3", ".abi3.so", place, take_extension(place))
        for minor, found in pythons.items():
            if found:
                configure(place, environment, architecture, *found, minor)
                build(place, "kalstream_cli", "kalstream_python")
                tag = f"cp3{minor}"
                pack(out, architecture, tag, tag, f".cpython-3{minor}-{architecture}-linux-gnu.so", place, take_extension(place))


main()
