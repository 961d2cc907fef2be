#!/usr/bin/env python3
"""abi-face.py HEADER EXPORTS LIBRARY: a shared library of the header's functions, all of them empty, with the versions
that EXPORTS gives them and debugging information.

Tools that compare interfaces see in it what C programs see of libkalstream.so, and none of the C++ behind it. That the
real library has these functions, and no others, is what tests/capi/symbols.sh looks at.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

header, exports, library = sys.argv[1:]
text = re.sub(r"/\*.*?\*/", "", Path(header).read_text(), flags=re.DOTALL)
functions = re.findall(r"^((?:int|void|const char\*) kalstream_\w+\([^;{]*\));", text, re.MULTILINE)
source = f'#include "{Path(header).resolve()}"\n'
for function in functions:
    source += function + (" {" + ("" if function.startswith("void") else " return 0;") + " }\n")
with tempfile.TemporaryDirectory() as folder:
    face = Path(folder, "face.c")
    face.write_text(source)
    subprocess.run(["cc", "-std=c99", "-g", "-shared", "-fPIC", "-w", f"-Wl,--version-script={exports}",
                    "-Wl,-soname,libkalstream.so.0", "-o", library, face], check=True)
