"""Builds the package for pip (PEP 517): a wheel is a ZIP archive with three files of metadata. setuptools could do this, but pip
would have to download it."""
import base64
import hashlib
import pathlib
import re
import tarfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
SOURCES = sorted((HERE / "attnbench").glob("*.py"))
VERSION = re.search(r'^__version__ = "(.*)"', (HERE / "attnbench" / "__init__.py").read_text(encoding="utf-8"), re.MULTILINE)[1]
METADATA = f"Metadata-Version: 2.1\nName: attnbench\nVersion: {VERSION}\nRequires-Python: >=3.8\n" \
           "Summary: attnbench from Python: measure, check and compare attention functions\n"
ABOUT = f"attnbench-{VERSION}.dist-info"


def files_of_wheel():
    """{name in the archive: bytes}. built_from: the folder of the program in the tree, or below the prefix, that this lies in."""
    files = {f"attnbench/{source.name}": source.read_bytes() for source in SOURCES}
    is_tree = (HERE.parents[1] / "Makefile").is_file()
    files["attnbench/built_from"] = str(HERE.parents[1] if is_tree else HERE.parents[3] / "bin").encode()
    files[f"{ABOUT}/METADATA"] = METADATA.encode()
    files[f"{ABOUT}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: attnbench\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    return files


def record_line(name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    name, files = f"attnbench-{VERSION}-py3-none-any.whl", files_of_wheel()
    record = "".join(record_line(*item) for item in files.items()) + f"{ABOUT}/RECORD,,\n"
    with zipfile.ZipFile(pathlib.Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in [*files.items(), (f"{ABOUT}/RECORD", record.encode())]:
            archive.writestr(path, data)
    return name


def build_sdist(sdist_directory, config_settings=None):
    name = f"attnbench-{VERSION}"
    with tarfile.open(pathlib.Path(sdist_directory) / f"{name}.tar.gz", "w:gz") as archive:
        for path in [HERE / "pyproject.toml", HERE / "backend.py", *SOURCES]:
            archive.add(path, f"{name}/{path.relative_to(HERE)}")
    return f"{name}.tar.gz"
