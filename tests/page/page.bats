# tags: slow asan
# --html: a report, several reports or a comparison as one page for a browser.
load ../helper

GPU=tests/data/released/0.1.0/gpu.json
BASE=tests/data/released/0.1.0/baseline.json

# page FILE: what tests/check_page.py counts, in $TMP/facts.
page() { python tests/check_page.py "$1" >"$TMP/facts" 2>"$TMP/faults" || fail "faults of $1: $(head -n 20 "$TMP/faults")"; }

# edit FROM TO STATEMENT: a copy of a report with a change, by a Python statement over the document d.
edit() {
  python -c 'import json, sys
d = json.load(open(sys.argv[1]))
exec(sys.argv[3])
json.dump(d, open(sys.argv[2], "w"))' "$1" "$2" "$3"
}

@test "a page has every row, each figure with its data, findings that link to rows, and nothing from outside" {
  must 0 attn report "$GPU" --html "$TMP/gpu.html" --csv "$TMP/gpu.csv"
  expect_no_err
  page "$TMP/gpu.html"
  rows=$(json "$GPU" 'len(d["results"])')
  expect_json "$TMP/facts" "d['rows'] == $rows"
  # It opens with the answer: that of the text report.
  attn report "$GPU"
  answer=$(tr '\n' ' ' <"$OUT" | grep -o 'fastest: [a-z_0-9]* in [0-9]* of [0-9]* cases')
  expect_json "$TMP/facts" "'$answer' in d['texts']['strong']"
  for id in rows rate latency roofline cold findings; do expect_json "$TMP/facts" "'$id' in d['ids']"; done
  # A table of data for each figure, and every hot median of the report in the table.
  expect_json "$TMP/facts" "d['counts']['pre'] == d['texts']['summary'].count('Data of this figure as CSV') > 4"
  attn report "$GPU" --json "$TMP/gpu.json"
  python - "$TMP/gpu.json" "$TMP/gpu.html" <<'CHECK' || fail "medians that the page lacks"
import json, sys
page = open(sys.argv[2]).read()
results = [r for r in json.load(open(sys.argv[1]))["results"] if r["status"] == "ok"]
assert results
for r in results:
    row = page[page.index(f'data-key="{r["key"]}"'):]
    hot = (r["time"] or {}).get("hot")
    assert hot is None or f'data-value="{json.dumps(hot["median_us"])}"' in page, r["key"]
    for finding in r["findings"]:
        assert f'id="finding-{finding["id"]}-' in page, finding["id"]
CHECK
  python - "$TMP/gpu.json" "$TMP/gpu.html" <<'CHECK' || fail "points that are not where their rates are"
import html, json, re, sys
page = open(sys.argv[2]).read()
section = page[page.index('<section id="rate"'):page.index('<section id="latency"')]
drawings = [drawing.split('<figure class="strips">')[0] for drawing in section.split("<figure>")[1:]]
drawings += [strips for strips in section.split('<figure class="strips">')[1:]]
points = 0
rate_text = r'[^"]*"><title>.*?: ([\d.]+) \(([\d.]+) to ([\d.]+)\) (?:TFLOP|GB)/s[^<]*</title>'
for drawing in drawings:
    found = re.findall(r'<path class="mark" d="M(?!0.0 11.0)[\d.]+ ([\d.]+)m' + rate_text, drawing)
    found = found or [(-float(x), *rest) for x, *rest in re.findall(r'<svg x="([\d.]+)%"><path class="mark" d="M0.0 11.0m' + rate_text, drawing)]
    places = sorted((float(rate), float(y)) for y, rate, low, high in found)
    assert found and all(float(low) <= float(rate) <= float(high) for y, rate, low, high in found), found
    # One scale: a straight line from rate to place, higher rates further up.
    (r0, y0), (r1, y1) = places[0], places[-1]
    for rate, y in places:
        assert r1 == r0 or abs(y0 + (rate - r0) * (y1 - y0) / (r1 - r0) - y) < 0.3, places
    assert y1 <= y0
    points += len(found)
hot = [r for r in json.load(open(sys.argv[1]))["results"] if r["time"] and r["time"]["hot"]]
assert points == len(hot) > 3, (points, len(hot))
CHECK
  # The same bytes again: a page is a pure function of the report.
  attn report "$GPU" --html -
  cmp "$OUT" "$TMP/gpu.html"
}

@test "time over B*H is drawn with the steps that the waves of the grid make" {
  must 0 attn report results/h200/v3.journal --html "$TMP/v3.html" --json "$TMP/v3.json"
  page "$TMP/v3.html"
  python - "$TMP/v3.json" "$TMP/v3.html" <<'CHECK' || fail "steps that are not those of the waves"
import json, re, sys
scaled, stepped = {}, 0
for r in json.load(open(sys.argv[1]))["results"]:
    if r["scaling"] and r["scaling"]["time_ratio"] and not r.get("picked"):  # auto begins where it picked another kernel
        scaled.setdefault(r["variant"], []).append((r["shape"]["B"] * r["shape"]["Hq"], r["scaling"]))
page = open(sys.argv[2]).read()
section = page[page.index('<section id="scaling"'):]
drawings = [d for d in section[:section.index("</section>")].split("<figure><figcaption>")[1:] if not d.startswith("auto")]
assert len(drawings) == len(scaled) > 3, (len(drawings), len(scaled))
assert "Scaling over B*H: D 64, f16, no mask, S 512</h2>" in section and section.count(">time / time at B*H 8<") == len(drawings)
scales = {re.search(r'</title>.*?class="name"', drawing, re.S).group() for drawing in drawings}
assert len(scales) == 1, "variants at the same cases have unlike scales"
for drawing in drawings:
    rows = sorted(scaled[re.match("[^,<]*", drawing).group().strip()], key=lambda row: row[0])
    ticks = [(float(y), float(label)) for y, label in
             re.findall(r'class="grid" d="M[\d.]+ ([\d.]+)H[\d.]+"/><text[^>]*>([\d.]+)</text>', drawing)]
    (y0, v0), (y1, v1) = ticks[0], ticks[-1]
    value = lambda y: v0 + (float(y) - y0) * (v1 - v0) / (y1 - y0)
    near = lambda a, b: abs(a - b) < 0.02 * max(1, v1)
    points = re.findall(r'class="mark" d="M([\d.]+) ([\d.]+)m', drawing)
    assert len(points) == len(rows)
    assert all(near(value(y), s["time_ratio"]["hot"]) for (x, y), (pairs, s) in zip(points, rows)), drawing[:80]
    steps = [tuple(map(float, at)) for at in re.findall(r'class="expected" d="M([\d.]+) ([\d.]+)L([\d.]+) ([\d.]+)"', drawing)]
    if rows[-1][1]["wave_ratio"] is None:
        assert not steps
        continue
    assert near(value(steps[0][1]), 1) and near(value(steps[-1][3]), rows[-1][1]["wave_ratio"]), (drawing[:80], steps)
    # Flat or straight up, never aslant, where the grid is known to grow with B*H; one rise for each wave more.
    if all(x0 == x1 or y0 == y1 for x0, y0, x1, y1 in steps):
        stepped += 1
        rises = sum(y0 != y1 for x0, y0, x1, y1 in steps)
        first, last, full = rows[0][0], rows[-1][0], rows[-1][1]["full_bh"]
        assert rises == -(-last // full) - -(-first // full), (drawing[:80], rises)
assert stepped > 2, stepped
CHECK
}

@test "findings stand by what they are, the most severe first, and the answer counts them" {
  must 0 attn report results/h200/v3.journal --html "$TMP/v3.html"
  page "$TMP/v3.html"
  python - "$TMP/v3.html" <<'CHECK' || fail "findings out of order"
import re, sys
page = open(sys.argv[1]).read()
section = page[page.index('<section id="findings"'):]
groups = re.findall(r'<li class="finding (\w+)"><h3><span [^>]*>\w+</span> (\w+)</h3>(.*?)</ul></li>', section, re.S)
names = [name for severity, name, lines in groups]
assert len(set(names)) == len(names) > 5, names
order = ["severe", "warning", "note"]
severities = [severity for severity, name, lines in groups]
assert severities == sorted(severities, key=order.index), severities
lines = {severity: sum(text.count("<li id=") - text.count("as the variants that it picked") for s, name, text in groups if s == severity) for severity in order}
assert f'Findings: <a href="#findings">{lines["severe"]} severe, {lines["warning"]} warnings</a>' in page, lines
assert f"<summary>{lines['note']} notes</summary>" in section
assert "<code>auto</code>: as the variants that it picked</li>" in section
CHECK
  must 0 attn report results/h200/steady.journal --filter dtype=f16 --html "$TMP/steady.html" --json "$TMP/steady.json"
  python - "$TMP/steady.json" "$TMP/steady.html" <<'CHECK' || fail "no steady ratio in the answer"
import json, sys
ratios = [row["speedup_vs"] for row in json.load(open(sys.argv[1]))["results"] if row["variant"] == "wgmma"]
hot, steady = ([ratio[mode]["ratio"] for ratio in ratios] for mode in ("hot", "steady"))
answer = (f"faster than cudnn in {len(ratios)} of {len(ratios)} ({min(hot):.2f}x to {max(hot):.2f}x); "
          f"steady: {min(steady):.2f}x to {max(steady):.2f}x</strong>")
assert answer in open(sys.argv[2]).read(), answer
CHECK
  # Device, sweep and date stand there, the rest is folded.
  [ "$(sed -n '/<dl>/,/<details>/p' "$TMP/steady.html" | head -n 1 | grep -o '<dt>' | wc -l)" -le 5 ] || fail "the facts are not folded"
}

@test "no two series look alike; auto is a ring around the variant that it picked" {
  attn report results/h200/v3.journal --html "$TMP/v3.html"
  attn report results/h200/prefill.journal results/h200/prefill_fa3.journal --html "$TMP/both.html"
  python - "$TMP/v3.html" "$TMP/both.html" <<'CHECK' || fail "series that look alike"
import re, sys
v3, both = ({name: style.split() for style, name in re.findall(r'<li class="([^"]*)" data-series=.*?<span>([^<]*)</span>', open(path).read())}
            for path in sys.argv[1:])
assert v3["auto"][-1] == "twin" and len(v3) > 12, v3
styles = [tuple(style[:2]) for name, style in v3.items() if name != "auto"]
assert len(set(styles)) == len(styles), v3
assert both["wgmma (1)"] == [both["wgmma (2)"][0], "d0"] and both["wgmma (2)"][1] == "d1", both
CHECK
}

@test "each of many lines has its name at its end, short and like no other; few lines have none" {
  attn report results/h200/mma_ladder.journal --html "$TMP/ladder.html"
  python - "$TMP/ladder.html" <<'CHECK' || fail "names of lines"
import re, sys
page = open(sys.argv[1]).read()
rate = page[page.index('<section id="rate"'):page.index('<section id="latency"')]
drawings = re.findall(r"<figure><figcaption>.*?</figure>", rate, re.S)
assert len(drawings) == 2
for drawing in drawings:
    names = re.findall(r'<text class="line-name"[^>]*>([^<]*)</text>', drawing)
    assert len(set(names)) == len(names) == 14 and max(map(len, names)) <= 21, names
    assert {"cudnn", "cp_async:stages=2", "mma_swizzle:0,0,0,1", "mma_swizzle:1,1,1,2"} <= set(names), names
    # The line that leads to a name begins at the height of its series' last point, and the name has its colour.
    for series in re.findall(r'<g class="[^"]*" data-series="(\d+)">', drawing):
        groups = re.findall(rf'<g class="([^"]*)" data-series="{series}">(.*?)</g>', drawing, re.S)
        assert len(groups) == 2 and groups[0][0] == groups[1][0], series
        last = re.findall(r'class="mark" d="M([\d.]+) ([\d.]+)m', groups[0][1])[-1]
        leader = re.search(r'class="leader" d="M([\d.]+) ([\d.]+)H', groups[1][1])
        assert leader.group(2) == last[1] and abs(float(leader.group(1)) - float(last[0]) - 4) < 0.11, (last, leader.groups())
CHECK
  attn report results/h200/steady.journal --html "$TMP/steady.html"
  ! grep -q 'class="line-name"' "$TMP/steady.html" || fail "two lines have names"
}

@test "the roofs of a page are those of the element types and pipes that its rows use" {
  must 0 attn report results/h200/fp8.journal --html "$TMP/fp8.html" --json "$TMP/fp8.json"
  page "$TMP/fp8.html"
  grep -q '>e4m3 tensor 2141<' "$TMP/fp8.html" || fail "the peak of e4m3 is missing"
  ! grep -q '16-bit tensor\|mma.sync [0-9]' "$TMP/fp8.html" || fail "a peak that no row uses is drawn"
  must 0 attn report results/h200/mission.journal --html "$TMP/mission.html"
  for roof in '16-bit tensor 1071' '16-bit mma.sync 711' 'fp32 67'; do grep -q ">$roof<" "$TMP/mission.html" || fail "$roof is missing"; done
}

@test "cases of one FLOP per byte have a line each with the percent of the roof, and no axis of intensities" {
  must 0 attn report results/h200/v3.journal --html "$TMP/v3.html" --json "$TMP/v3.json"
  page "$TMP/v3.html"
  python - "$TMP/v3.json" "$TMP/v3.html" <<'CHECK' || fail "percent of roofs"
import json, re, sys
results = json.load(open(sys.argv[1]))["results"]
page = open(sys.argv[2]).read()
section = page[page.index('<section id="roofline"'):page.index('<section id="scaling"')]
assert section.count('<figure class="strips">') == 2 and "<figure>" not in section
assert section.count(">highest, %<") == 2 and "FLOP per byte of Q" not in section
points = re.findall(r'<title>(\w+) at (\S+): ([\d.]+) % of the (\w+) roof</title>', section)
assert len(points) == sum(bool(r["time"] and r["time"][mode]) for r in results for mode in ("cold", "hot")) > 40, len(points)
assert section.count('<svg height="22"') == 2 * len({r["key"] for r in results})
CHECK
}

@test "the drawing of cold beside hot shows how much longer cold takes; the times beside the rates are folded" {
  must 0 attn report results/h200/prefill.journal --html "$TMP/prefill.html"
  page "$TMP/prefill.html"
  python - "$TMP/prefill.html" <<'CHECK' || fail "cold beside hot, or latency"
import re, sys
page = open(sys.argv[1]).read()
cold = page[page.index('<section id="cold"'):page.index('<section id="rows"')]
assert "cold longer than hot, %</text>" in cold
zero = float(re.search(r'class="zero" d="M[\d.]+ ([\d.]+)L', cold).group(1))
points = re.findall(r'class="mark" d="M[\d.]+ ([\d.]+)m[^"]*"><title>[^:]*: ([\d.]+) us hot, ([\d.]+) us cold', cold)
assert len(points) > 100
clear = [(float(y), float(cold) / float(hot)) for y, hot, cold in points if abs(float(cold) / float(hot) - 1) > 0.005]
assert clear and all((y < zero) == (ratio > 1) for y, ratio in clear)
latency = page[page.index('<section id="latency"'):page.index('<section id="roofline"')]
assert re.search(r'<details class="folded"><summary>16 drawings</summary>', latency), latency[:800]
assert latency.index("<summary>16") < latency.index("<figure>") and latency.rstrip().endswith("</details>\n</section>")
CHECK
}

@test "a drawing is for cases of one B and H over S; cases that are alone share one; bytes are the rate where DRAM bounds" {
  must 0 attn report results/h200/decode.journal --html "$TMP/decode.html"
  page "$TMP/decode.html"
  must 0 attn report results/h200/layouts.journal --html "$TMP/layouts.html"
  page "$TMP/layouts.html"
  expect_json "$TMP/facts" "'latency' not in d['ids']"
  python - "$TMP/decode.html" "$TMP/layouts.html" <<'CHECK' || fail "drawings of the wrong cases"
import re, sys
decode, layouts = (open(path).read() for path in sys.argv[1:])
section = decode[decode.index('<section id="rate"'):decode.index('<section id="latency"')]
titles = re.findall("<figcaption>([^<]*)</figcaption>", section)
assert len(set(titles)) == len(titles) > 8, titles
of_b = [title for title in titles if title.startswith("D 128, f16, no mask, 4 query heads per KV head, B ")]
assert [title.split(", ")[-3] for title in of_b] == ["B 1", "B 4", "B 16", "B 64"], of_b
assert "GB/s</text>" in section and "TFLOP/s</text>" not in section
# Each drawing has the bandwidth of DRAM, which a case that fits in L2 passes.
assert section.count(">DRAM 4814</text>") == section.count("<figure>") and "fit in L2 may lie above it" in section
assert re.search(r"GB/s</small>", decode[decode.index('<section id="rows"'):])
for drawing in section.split("<figure>")[1:]:
    cases = set(re.findall(r"<title>\w+ at (\S+):", drawing.split('<figure class="strips">')[0]))
    assert len(cases) > 1, drawing[:200]
section = layouts[layouts.index('<section id="rate"'):layouts.index('<section id="roofline"')]
lines = re.findall(r'<div class="strip"><span>(.*?)</span><svg height="22"', section)
cases = set(re.findall('data-key="([^"]*)"', layouts))
scaling = re.findall("<figcaption>([^<]*) <small>", decode[decode.index('<section id="scaling"'):])
assert len(set(scaling)) == len(scaling) > 3 and all(" keys" in title for title in scaling if "decode" in title), scaling
assert section.count("<figure>") == 0 and len(lines) == len(set(lines)) == len(cases) > 10, (len(lines), len(cases))
CHECK
}

@test "cases that differ in the window alone share a drawing over it, and stand together in the table of ratios" {
  must 0 attn report results/h200/window.journal --html "$TMP/window.html"
  page "$TMP/window.html"
  python - "$TMP/window.html" <<'CHECK' || fail "windows"
import re, sys
page = open(sys.argv[1]).read()
section = page[page.index('<section id="rate"'):page.index('<section id="latency"')]
drawings = section.split('<figure class="strips">')[0].split("<figure>")[1:]
shown = {}
for drawing in drawings:
    title = re.search("<figcaption>([^<]*)", drawing).group(1)
    shown[title] = re.findall(r"<text [^>]*>(\d+:\d+|causal)</text>", drawing)
    assert "window" not in title and "keys before:after" in drawing
assert shown["D 64, bf16, B 1, H 32, S 16384"] == ["127:0", "1023:0", "4095:0", "512:512"], shown
assert shown["D 64, bf16, sink, 8 query heads per KV head, B 1, H 64, S 8192"] == ["127:0", "causal"], shown
# Each case is drawn once: over its window, or alone.
lines = re.findall(r'<div class="strip"><span>(.*?)</span><svg height="22"', section)
assert sum(map(len, shown.values())) + len(lines) == len(set(re.findall('data-key="([^"]*)"', page))) > 20
# Windows of one side are joined; 512:512 is none of them.
assert drawings[0].count('class="line"') == 2 * 2, drawings[0]
heat = re.findall(r'<span class="wide">D 128, bf16, ([^,<]*)(, B 1)?', page)
assert [name for name, more in heat if more] == ["no mask", "window 512:512", "causal mask", "window 4095:0", "window 1023:0", "window 127:0"], heat
CHECK
}

@test "columns that say the same in each row, and bytes where few rows are bound by DRAM, leave the table; no number breaks" {
  must 0 attn report results/h200/prefill.journal --html "$TMP/prefill.html"
  page "$TMP/prefill.html"
  grep -q 'equal in all rows that have it: blocks 132, waves 1.00.</p>' "$TMP/prefill.html" || fail "the constants are not named"
  python - "$TMP/prefill.html" <<'CHECK' || fail "columns of the table"
import re, sys
page = open(sys.argv[1]).read()
table = page[page.index('<section id="rows"'):]
headings = re.sub("<[^>]*>", " ", re.search("<thead>(.*?)</thead>", table, re.S).group(1)).split()
assert "clock" in headings and not {"blocks", "waves", "GB/s"} & set(headings), headings
assert not re.search(r"\d\.?<wbr>\d", table)
CHECK
  must 0 attn report results/h200/fp8.journal --html "$TMP/fp8.html"
  page "$TMP/fp8.html"
  grep -q '<span>wgmma_fp8:<wbr>kv_tile=128</span>' "$TMP/fp8.html" || fail "where a variant breaks"
  grep -q 'D128.<wbr>e4m3.<wbr>scales_tensor.<wbr>outliers0.001.<wbr>full</th>' "$TMP/fp8.html" || fail "where a key breaks"
}

@test "names from a report stay texts, in the page and in its CSV" {
  edit "$GPU" "$TMP/evil.json" '
evil = "<script>alert(1)</script>\"><img src=x onerror=alert(2)>&amp;\u202e\u0007"
d["device"]["name"] = evil[:40]
d["run"]["command"] = d["sweep"]["about"] = evil
d["sweep"]["name"] = d["tool"]["git_commit"] = evil[:31]
for i, r in enumerate(d["results"]):
    r["variant"] = ["=cmd,", "</pre><b onclick=x>", "\"><img src=x>"][i % 3] + r["variant"]
    if r["reason"]: r["reason"] = evil'
  must 0 attn report "$TMP/evil.json" --html "$TMP/evil.html"
  page "$TMP/evil.html"
  expect_json "$TMP/facts" "'<script>alert(1)</script>\"><img' in d['texts']['dd'] and '\u202e' not in str(d['texts'])"
  expect_json "$TMP/facts" "'img' not in d['counts'] and '</pre><b onclick=x>' in d['texts']['pre']"
  # A spreadsheet would take what starts with = for a formula.
  expect_json "$TMP/facts" "chr(10) + '\"\\'=cmd,' in d['texts']['pre']"
  # Texts that a page holds beside the report's: the path of a file, the name of a variant.
  cp "$BASE" "$TMP/<b onclick=x>&.json"
  must 0 attn report "$TMP/<b onclick=x>&.json" "$BASE" --html "$TMP/path.html"
  page "$TMP/path.html"
  expect_json "$TMP/facts" "'<b onclick=x>&.json' in d['texts']['small']"
}

@test "two reports of the same cells are compared with the verdict of compare; of unlike cells they stand side by side" {
  edit "$BASE" "$TMP/slow.json" '
d["run"]["wall_s"] *= 4
for r in d["results"]:
    for mode in ("cold", "hot"):
        if not r.get("time") or not r["time"].get(mode): continue
        for key in r["time"][mode]:
            if key.endswith("_us") and r["time"][mode][key]: r["time"][mode][key] *= 1.5
        r["time"][mode]["elapsed_s"] *= 1.5
        r["wall_s"] *= 2
        if (r.get("processes") or {}).get(mode):
            r["processes"][mode]["median_us"] = [us * 1.5 for us in r["processes"][mode]["median_us"]]'
  attn compare "$BASE" "$TMP/slow.json" --html "$TMP/compare.html"
  judged=$status
  page "$TMP/compare.html"
  outcome=$(head -n 1 "$OUT")
  expect_json "$TMP/facts" "'verdict' in d['ids'] and 'exit code $judged' in d['texts']['strong']"
  [[ $outcome == *"exit code $judged"* ]] || fail "verdicts differ"
  # Each row that fails is red, and has its bounds.
  python - "$TMP/compare.html" <<'CHECK' || fail "the changes of a comparison"
import re, sys
page = open(sys.argv[1]).read()
assert re.search(r"<figcaption>All \d+ rows, worst first<", page)
for strip in re.findall(r'<div class="strip">.*', page[page.index('id="verdict"'):page.index('id="rate"')])[1:]:
    assert ('"c7"' in strip) == (": regressed</title>" in strip) and 'class="zero"' in strip, strip
CHECK
  must 0 attn report results/h200/prefill.journal results/h200/prefill_fa3.journal --html "$TMP/single.html"
  page "$TMP/single.html"
  grep -q '<figcaption>The 40 worst of 66 rows<' "$TMP/single.html" || fail "how many rows are drawn"
  [ "$(grep -c '^<div class="strip">.*<g class="c10"><title>.*: inconclusive</title>' "$TMP/single.html")" -eq 40 ] || fail "what is inconclusive is grey"
  # report shows the same verdict; its own exit code is that of the rows.
  must 0 attn report "$BASE" "$TMP/slow.json" --html "$TMP/both.html"
  page "$TMP/both.html"
  expect_json "$TMP/facts" "'exit code $judged' in d['texts']['strong']"
  expect_json "$TMP/facts" "d['rows'] == $(json "$BASE" '2 * len(d["results"])')"
  edit "$BASE" "$TMP/seed.json" 'd["run"]["seed"] += 1'
  must 6 attn compare "$BASE" "$TMP/seed.json"
  must 0 attn report "$BASE" "$TMP/seed.json" --html "$TMP/unlike.html"
  page "$TMP/unlike.html"
  expect_json "$TMP/facts" "'verdict' not in d['ids'] and d['rows'] == $(json "$BASE" '2 * len(d["results"])')"
  attn report "$BASE" tests/data/released/0.1.0/times.json --across-devices --html "$TMP/unlike.html"
  page "$TMP/unlike.html"
  expect_json "$TMP/facts" "'verdict' not in d['ids'] and d['rows'] > 0"
}

@test "a page is written of what has no times: a plan, a check, times entered by hand, an empty selection of figures" {
  must 0 attn plan --sweep tests/data/sweeps/tiny.json --gpu h200 --html "$TMP/plan.html"
  page "$TMP/plan.html"
  expect_json "$TMP/facts" "'rate' not in d['ids'] and d['rows'] > 0"
  must 0 attn --sweep tests/data/sweeps/tiny.json --device cpu --variants cpu_ref --check-only --html "$TMP/check.html"
  page "$TMP/check.html"
  expect_json "$TMP/facts" "d['rows'] == 2 and d['counts'].get('svg', 0) == 0"
  # What no row fills is no column; of a row without times its status is there, and of one that failed the reason.
  ! grep -q '>cold <small>' "$TMP/check.html" && [ "$(grep -o '<span>ok</span>' "$TMP/check.html" | wc -l)" -eq 2 ] || fail "columns"
  ! grep -q '<details class="reasons" open>' "$TMP/plan.html" || fail "nothing failed"
  edit "$GPU" "$TMP/wrong.json" '
d["results"][0].update(status="crashed", reason="because", check=None, time={"cold": None, "hot": None})
d["summary"].update(ok=d["summary"]["ok"] - 1, crashed=1, exit_code=4)'
  attn report "$TMP/wrong.json" --html "$TMP/wrong.html"
  page "$TMP/wrong.html"
  grep -q '<details class="reasons" open>' "$TMP/wrong.html" && grep -q '<strong>crashed</strong>' "$TMP/wrong.html" || fail "the reason is hidden"
  attn diagnose tests/data/times_s0.json --html "$TMP/hand.html"
  page "$TMP/hand.html"
  expect_json "$TMP/facts" "'the times were entered by hand' in d['texts']['dd']"
}

@test "a history's curves have axes; a series of one run is a line of text" {
  python tests/history_runs.py "$BASE" "$TMP/runs" 24
  must 1 attn history "$TMP/runs" --allow-edited --html "$TMP/h.html"
  page "$TMP/h.html"
  # On a narrow screen a change is a card, whose cells say what the heading said.
  for text in 'class="cards"' '<td class="n" data-label="bounds">' '2026-01-01</text>' '2026-01-24</text>' '>time, %</text>' '<tr class="fails"><td>slower</td><td>c000010</td>'; do
    grep -q "$text" "$TMP/h.html" || fail "$text is missing"
  done
  must 0 attn history "$BASE" --allow-edited --html "$TMP/one.html"
  page "$TMP/one.html"
  expect_json "$TMP/facts" "d['counts'].get('figure', 0) == 0 and '8 series' in d['texts']['summary']"
  ! grep -q 'over 1 runs' "$TMP/one.html" || fail "a curve of one run"
}

@test "where a page cannot go is said before anything else, with its exit code" {
  expect_refusal 8 "--html" -- report "$GPU" --html "$TMP/none/page.html"
  expect_refusal 8 "--html" -- report "$GPU" "$GPU" --html "$TMP/none/page.html"
  cp "$GPU" "$TMP/in.json"
  expect_refusal 2 "--html" -- report "$TMP/in.json" --html "$TMP/in.json"
  expect_refusal 2 "with --html as a page" -- report "$GPU" "$GPU" --json "$TMP/out.json"
}

@test "in a browser: sorts, filters, hides series; no error, no request, nothing sticks out at 400 and 1280 pixels" {
  for name in ${ATTN_BROWSER:-chromium chromium-browser google-chrome}; do
    browser=$(command -v "$name") && break
  done
  [ -n "$browser" ] || skip "no chromium or google-chrome is installed (ATTN_BROWSER names another)"
  [ "$(ulimit -n)" -ge 256 ] || skip "a browser needs more than $(ulimit -n) open files"
  export HOME=$TMP
  attn report "$GPU" --html "$TMP/gpu.html"
  attn report "$BASE" "$BASE" --html "$TMP/both.html"
  attn report results/h200/decode.journal --html "$TMP/many.html" # more cases in a drawing than labels side by side
  attn report results/h200/steady.journal --html "$TMP/steady.html" # a tick at the end of an axis
  attn report results/h200/mma_ladder.journal --html "$TMP/ladder.html" # 14 lines with names in one drawing
  grep -q 'class="cards"' "$TMP/both.html" && grep -q 'id="verdict"' "$TMP/both.html" || fail "no verdict beside the rows"
  must 0 capture timeout 60 "$ATTN_PYTHON" tests/page_in_browser.py "$browser" "$TMP/"{gpu,both,many,steady,ladder}.html
}

@test "auto is not the fastest of a case beside the variant that it picked: that is one kernel measured twice" {
  attn report results/h200/kinds.journal --html "$TMP/kinds.html" --quiet
  [ "$(grep -o 'mark-fastest">' "$TMP/kinds.html" | wc -l)" -eq 4 ] || fail "not one mark per case"
  ! grep '>auto' "$TMP/kinds.html" | grep -q 'mark-fastest">' || fail "auto is marked"
  attn report results/h200/n6.journal results/h200/torch_n6.json
  [ "$(grep -c '^> ' "$OUT")" -eq 7 ] && ! grep -q '^> auto' "$OUT" || fail "not one mark per case, or auto is marked"
}

# check_ratios JOURNAL: the numbers of the page against those of the report.
check_ratios() {
  python - "$TMP/gpu.json" "$TMP/gpu.html" "$1" <<'CHECK' || fail "$1: a ratio is missing, or leads elsewhere"
import json, re, sys
page = open(sys.argv[2]).read()
best = {}
results = json.load(open(sys.argv[1]))["results"]
rows = {(r["key"], r["variant"]) for r in results}
for r in results:
    ratio = ((r.get("speedup_vs") or {}).get("hot") or {}).get("ratio")
    if not ratio or (r["key"], r.get("picked")) in rows:  # auto ran a kernel that has a row of its own
        continue
    best[r["key"]] = max(best.get(r["key"], 0), ratio)
section = page[page.index('<section id="heat"'):page.index('<section id="rate"')].split("<details>")[0]
cells = re.findall(r'<a href="#(row-\d+)">~?([\d.]+)</a>', section)
assert len(cells) == len(best) > 0, (len(cells), len(best))
for row, text in cells:
    tag = re.search(f'<tr id="{row}"[^>]*>', page).group()
    key = re.search('data-key="([^"]*)"', tag).group(1)
    assert abs(float(text) - best[key]) <= 0.006 * max(1, best[key]), (key, text, best[key])
# The colour is that of the number as it is printed.
shades = re.findall(r'heat-(\d)">(?:<small>[^<]*</small> )?<a [^>]*>~?([\d.]+)', section)
assert len(shades) == len(cells) and "heat-2\"></i>faster, up to 1.15" in section
assert all(shade in ("1", "0" if float(text) < 1 else "2" if float(text) <= 1.15 else "3") for shade, text in shades), shades
# Cases of one S that differ in B or H have lines of their own.
lines = re.findall(r'<th scope="row"><span class="wide">([^<]*)</span>', section)
short = re.findall(r'<span class="narrow">([^<]*)</span></th>', section)
assert len(set(lines)) == len(lines) == len(set(short)) == len(short) > 0, (lines, short)
assert sys.argv[3] != "decode" or sum(", B " in line for line in lines) > 3, lines
CHECK
}

@test "the fastest variant beside the reference stands by kind of case and by S, and leads to its row" {
  local journal
  for journal in decode batch wgmma_ladder prefill steady; do
    attn report "results/h200/$journal.journal" --filter 'dtype=f16' --html "$TMP/gpu.html" --json "$TMP/gpu.json"
    page "$TMP/gpu.html"
    check_ratios "$journal"
  done
  # A winner of every case is named once; steady ratios stand beside the hot ones.
  grep -q '<p>The fastest other variant of every case is <code>wgmma</code>' "$TMP/gpu.html" || fail "the winner's name"
  python - "$TMP/gpu.json" "$TMP/gpu.html" <<'CHECK' || fail "no steady ratio"
import json, sys
row = next(row for row in json.load(open(sys.argv[1]))["results"] if row["variant"] == "wgmma" and row["shape"]["D"] == 128)
ratios = row["speedup_vs"]
cell = f'{ratios["hot"]["ratio"]:.2f}</a> <small>steady {ratios["steady"]["ratio"]:.2f}</small></td>'
assert cell in open(sys.argv[2]).read(), cell
CHECK
  # Few other variants have a table each, by way of the reference.
  attn report results/h200/odd.journal --html "$TMP/rival.html" --json "$TMP/rival.json"
  python - "$TMP/rival.json" "$TMP/rival.html" <<'CHECK' || fail "the table against fa3"
import json, re, sys
ratio = {(r["key"], r["variant"]): r["speedup_vs"]["hot"]["ratio"] for r in json.load(open(sys.argv[1]))["results"] if r["speedup_vs"]}
page = open(sys.argv[2]).read()
table = re.search("<summary>Speed against fa3</summary>(.*?)</details>", page, re.S).group(1)
cells = re.findall(r'heat-(\d)">(?:<small>[^<]*</small> )?<a href="#(row-\d+)">([\d.]+)</a>', table)
assert len(cells) == 36 and page.count("<summary>Speed against fa3</summary>") == 1, len(cells)
for shade, row, text in cells:
    key = re.search(f'<tr id="{row}"[^>]* data-key="([^"]*)"', page).group(1)
    assert abs(float(text) - ratio[key, "wgmma"] / ratio[key, "fa3"]) <= 0.006, (key, text)
    assert shade in ("1", "0" if float(text) < 1 else "2" if float(text) <= 1.15 else "3"), (key, shade, text)
CHECK
  ! grep -q '<summary>Speed against' "$TMP/gpu.html" || fail "a table against nothing"
  # A page of two reports has no such table.
  must 0 attn report results/h200/decode.journal results/h200/v3.journal --html "$TMP/two.html"
  page "$TMP/two.html"
  expect_json "$TMP/facts" "'heat' not in d['ids']"
}
