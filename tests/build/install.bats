# tags: builds
# make install: what lies under the prefix works without the sources.
load ../helper

@test "installed headers, example, sweeps, schemas and scripts work without the sources, and uninstall removes all" {
  [ -x "$ROOT/attnbench" ] || skip "no ./attnbench; make builds it"
  must 0 capture bash -c 'umask 077 && make -o all install PREFIX=/opt/attn DESTDIR="$1"' install "$TMP/a root"
  unreadable=$(find "$TMP/a root" -mindepth 1 ! -perm -o=r -o -type d ! -perm -o=x)
  [ -z "$unreadable" ] || fail "only their owner can read: $unreadable"
  at="$TMP/a root/opt/attn"
  cd "$TMP"
  # As a package's build sees it: DESTDIR is no part of what is written into files.
  flags=$(PKG_CONFIG_PATH=$at/share/pkgconfig pkg-config --cflags attnbench) || skip "no pkg-config"
  [ "${flags% }" = "-I/opt/attn/include/attnbench" ] || fail "$flags"
  must 0 capture g++ -std=c++20 "-I$at/include/attnbench" -shared -fPIC -Wl,-Bsymbolic -o mine.so -x c++ "$at/share/attnbench/example/example.cu"
  must 0 capture "$at/bin/attnbench" --sweep "$at/share/attnbench/example/sweep.json" --load ./mine.so --variants example_cpu --device cpu --check-only
  expect_out example_cpu
  # Every example builds from what is installed; with nvcc where there is one, the kernels too.
  for example in example host_launched tma_wgmma; do
    if command -v nvcc >/dev/null; then
      capture nvcc -std=c++20 -gencode=arch=compute_90a,code=sm_90a "-I$at/include/attnbench" -shared -Xcompiler -fPIC -Xlinker -Bsymbolic \
        -o "$example.so" "$at/share/attnbench/example/$example.cu"
    else
      capture g++ -std=c++20 "-I$at/include/attnbench" -shared -fPIC -Wl,-Bsymbolic -o "$example.so" -x c++ "$at/share/attnbench/example/$example.cu"
    fi
    expect_status 0
  done
  must 0 capture "$at/bin/attnbench" plan --shape B=1,H=8,S=512,D=64 --gpu h200 --load ./host_launched.so --load ./tma_wgmma.so --json -
  expect_json "$OUT" '[(r["status"], len(r["launches"])) for r in d["results"]][:2] == [("planned", 0), ("planned", 1)]'
  for file in attnbench/{shapes/v3,schema/{report,sweep,kernel}.schema}.json man/man1/attnbench.1 bash-completion/completions/attnbench \
    zsh/site-functions/_attnbench fish/vendor_completions.d/attnbench.fish; do
    [ -s "$at/share/$file" ] || fail "share/$file is not installed"
  done
  # Whatever page the program names is there, by the same path.
  for page in $(grep -rhoE '(results|shapes|kernels/example)/[A-Za-z_]+\.md' "$ROOT"/cli "$ROOT"/kernels --include='*.c' | sort -u); do
    [ -s "$at/share/attnbench/doc/$page" ] || fail "share/attnbench/doc/$page is not installed"
  done
  # No link of a page leads nowhere, and a command that describe prints finds its example.
  python - "$at/share/attnbench" <<'LINKS' || fail "dead links"
import pathlib, re, sys
dead = []
for page in pathlib.Path(sys.argv[1]).rglob("*.md"):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if not re.match(r"#|[a-z]+:", target) and not (page.parent / target.split("#")[0]).exists():
            dead.append(f"{page}: {target}")
sys.exit("\n".join(dead) or 0)
LINKS
  must 0 capture "$at/bin/attnbench" describe fa3
  for path in results/h200/rivals.md kernels/example/callables.py; do
    expect_out "$path"
    [ -s "$at/share/attnbench/doc/$path" ] || fail "doc/$path is not installed"
  done
  expect_out "in       $(realpath "$at/share/attnbench/doc")"
  tr -d "'" <"$OUT" | grep -qF -- "--load $(realpath "$at/share/attnbench/doc")/kernels/example/callables.py:flash" || fail "$(cat "$OUT")"
  for script in "$at"/share/attnbench/scripts/*.py; do
    must 0 capture env -u ATTNBENCH PATH="$at/bin:$PATH" "$ATTN_PYTHON" "$script" --help
  done
  must 0 capture env -u ATTNBENCH PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$at/share/attnbench/scripts/python" "$ATTN_PYTHON" -c \
    'import attnbench; assert attnbench.check("cpu_ref", B=1, H=1, S=8, D=8, device="cpu", show=False).ok'
  # The program is found in PATH. Stops for want of PyTorch or a sweep, not of attnbench.
  capture env -u ATTNBENCH PATH="$at/bin:$PATH" "$ATTN_PYTHON" "$at/share/attnbench/scripts/sdpa_baseline.py" --sweep none.json --json r.json
  refute_err "not a program"
  cd "$ROOT"
  capture make uninstall PREFIX=/opt/attn DESTDIR="$TMP/a root"
  [ -z "$(find "$TMP/a root" -type f)" ] || fail "left: $(find "$TMP/a root" -type f)"
}

@test "packages and images install what set-up says that building needs, and name files that are there" {
  cd "$ROOT"
  for package in $(sed -n 's/^\([[:alnum:]+-]*\)|build .*/\1/p' scripts/build/setup.sh); do
    tr -s ' ' '\n' <scripts/package/Dockerfile | grep -qxF "$package" || fail "the Dockerfile does not install $package"
    # Debian's build-essential has the compilers, make and libc6-dev.
    case $package in gcc | g++ | make | libc6-dev) continue ;; esac
    sed -n 's/^Build-Depends://p' scripts/package/debian/control | tr -s ', ' '\n' | grep -qxF "$package" || fail "debian/control does not build-depend on $package"
  done
  for part in scripts/package/debian/{control,rules,docs,source/format}; do
    [ -s "$part" ] || fail "$part is missing"
  done
  [ -x scripts/package/debian/rules ] || fail "debian/rules is not executable"
  must 0 capture make -n -f scripts/package/debian/rules override_dh_auto_test
  mapfile -t runs < <(sed -e ':a' -e '/\\$/N; s/\\\n//; ta' scripts/package/Dockerfile | sed -n 's/^RUN //p')
  [ "${#runs[@]}" -eq 3 ] || fail "${#runs[@]} RUN steps"
  for run in "${runs[@]}"; do bash -n -c "$run" || fail "$run"; done
}
