"""Says of an interpreter, a line each: its library, its folders, and as JSON what connect() in callable.py takes.

The current folder may have files named as modules of Python are: these imports do not search it."""

import sys

path = sys.path[:]
sys.path[:] = filter(None, path)

import json
import os
import sysconfig

get = sysconfig.get_config_var

# A program that is linked to its library names it; of others it has the name that distributions give it.
version = get("LDVERSION") or "%d.%d" % sys.version_info[:2]
names = [name for name in (get("INSTSONAME"), get("LDLIBRARY")) if name and ".so" in name]
names.append("libpython%s.so.1.0" % version)
library_folder = get("LIBDIR") or ""
folders = [library_folder, os.path.join(library_folder, get("MULTIARCH") or ""), os.path.join(sys.base_prefix, "lib")]
places = [os.path.join(folder, name) for name in names for folder in folders if folder]
print(([place for place in places if os.path.isfile(place)] + names[-1:])[0])

print(sys.base_prefix if sys.base_prefix == sys.base_exec_prefix else sys.base_prefix + ":" + sys.base_exec_prefix)
print(json.dumps(dict(path=path, executable=sys.executable, prefix=sys.prefix)))
