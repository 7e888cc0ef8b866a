# The axes of the problem beyond sizes, types and a causal mask, each from the command line to every output.
load ../helper

# expect_everywhere AXIS TEXT: the report of $TMP/j says the axis in each of its forms; TEXT is the part of the key.
expect_everywhere() {
  must 0 attn report "$TMP/j" --json "$TMP/again.json" --csv "$TMP/r.csv" --html "$TMP/p.html" --markdown "$TMP/p.md" --junit "$TMP/u.xml"
  expect_out "$2"
  expect_out_matches "^conventions: .*$1.*attnbench describe"
  expect_valid results/report.schema.json "$TMP/again.json"
  expect_json "$TMP/again.json" '"'"$1"'" in d["conventions"] and all("'"$1"'" in r["shape"] for r in d["results"] if "'"$2"'" in r["key"])'
  head -1 "$TMP/r.csv" | grep -q ",$1," || fail "the CSV has no column $1"
  grep -q "$2" "$TMP/p.html" || fail "the page has no $2"
  grep -q "$2" "$TMP/p.md" || fail "the Markdown has no $2"
  grep -q "$2" "$TMP/u.xml" || fail "the JUnit file has no $2"
  attn report "$TMP/again.json" --json "$TMP/twice.json"
  cmp "$TMP/again.json" "$TMP/twice.json"
  must 0 attn describe "$1"
  expect_out "cpu_ref"
}

@test "a window of keys is computed, counted and told everywhere" {
  local folder
  folder=$(dirname "$ATTNBENCH")
  [ -f "$folder/example.so" ] || folder=$(make -s print-BUILD)
  cat >"$TMP/s.json" <<'JSON'
{"attnbench_sweep": 1, "name": "s", "defaults": {"B": 2, "Hq": 4, "Hkv": 2, "D": 40, "causal": true},
 "grid": [{"Sq": [1, 33, 90], "Skv": 70, "window": [[16, 0], [5, 9], [-1, 3], [70, -1]], "dtype": ["f16", "f32"]}],
 "shapes": [{"S": 9, "window": [3, 0], "lse": true}, {"S": 9}, {"S": 9, "window": [-1, -1]}]}
JSON
  expect_valid results/sweep.schema.json "$TMP/s.json"
  must 0 attn --sweep "$TMP/s.json" --load "$folder/example.so" --device cpu --check-only --variants cpu_flash,cpu_ref,example_cpu --journal "$TMP/j" \
    --json "$TMP/r.json"
  expect_json "$TMP/r.json" 'all(r["status"] == "ok" for r in d["results"]) and len(d["results"]) == 81'
  expect_json "$TMP/r.json" '[r["key"] for r in d["results"][9::24]] == ["B2.H4.Hkv2.Sq%d.Skv70.D40.f16.window16:0" % n for n in (1, 33, 90)]
    and d["results"][9]["shape"]["window"] == [16, 0] and d["results"][9]["shape"]["causal"] is True'
  expect_json "$TMP/r.json" '[r["key"].split(".", 6)[6] for r in d["results"][:9:3]] == ["f16.window3:0.lse", "f16.causal", "f16.full"]'
  python - "$TMP/r.json" <<'PY'
import json, sys
for r in json.load(open(sys.argv[1]))["results"]:
    s = r["shape"]
    left, right = s.get("window", [-1, 0 if s["causal"] else -1])
    rows = [{j for j in range(s["Skv"]) if (left < 0 or j >= i + s["Skv"] - s["Sq"] - left) and (right < 0 or j <= i + s["Skv"] - s["Sq"] + right)}
            for i in range(s["Sq"])]
    assert r["flops"] == 4 * s["B"] * s["Hq"] * s["D"] * sum(map(len, rows)), r["key"]
    size, seen = 4 if s["dtype"] == "f32" else 2, len(set().union(*rows))
    assert r["bytes"] == size * s["B"] * s["D"] * 2 * (s["Hq"] * s["Sq"] + s["Hkv"] * seen) + ("lse" in s) * 4 * s["B"] * s["Hq"] * s["Sq"], r["key"]
PY
  expect_everywhere window window16:0
  attn --sweep "$TMP/s.json" --filter window=16:0 --filter S!=33 --device cpu --check-only --variants cpu_ref --json "$TMP/f.json"
  expect_json "$TMP/f.json" '{tuple(r["shape"]["window"]) for r in d["results"]} == {(16, 0)}'
  attn --sweep "$TMP/s.json" --filter causal --device cpu --check-only --variants cpu_ref --json "$TMP/f.json"
  expect_json "$TMP/f.json" '{tuple(r["shape"].get("window", "-")) for r in d["results"]} == {(16, 0), (3, 0), ("-",)}'
  attn --sweep "$TMP/s.json" --filter full --device cpu --check-only --variants cpu_ref --json "$TMP/f.json"
  expect_json "$TMP/f.json" '[r["key"].split(".", 6)[6] for r in d["results"]] == ["f16.full"]'
  expect_refusal 2 'window=16 is not understood; give LEFT:RIGHT, each a whole number' -- --sweep "$TMP/s.json" --filter window=16
}

@test "the command line takes windows, also in a list and in a key" {
  must 0 attn plan --gpu h200 --variants scalar,wgmma --shape B=1,H=8,S=512,D=64,window=127:0,1023:0,-1:5,causal --json "$TMP/p.json"
  expect_json "$TMP/p.json" '[r["key"].split(".")[-1] for r in d["results"][::2]] == ["window127:0", "window1023:0", "window-1:5", "causal"]
    and [r["status"] for r in d["results"]] == ["planned", "skipped"] * 3 + ["planned"] * 2
    and "window must be left out" in d["results"][1]["reason"]'
  attn plan --gpu h200 --variants scalar --shape B1.H8.S512.D64.window-1:0 --json "$TMP/p.json"
  expect_json "$TMP/p.json" 'd["results"][0]["key"] == "B1.H8.Hkv8.Sq512.Skv512.D64.f16.causal"'
  expect_refusal 2 '"5" is not a value of window; did you mean 5:0? Give LEFT:RIGHT, each a whole number' -- plan --gpu h200 --shape B=1,H=8,S=512,D=64,window=5
  expect_refusal 2 'give LEFT:RIGHT, each a whole number' -- plan --gpu h200 --shape B=1,H=8,S=512,D=64,window=-2:0
  SWEEP=$(write_file both.json '{"attnbench_sweep": 1, "name": "both", "shapes": [{"B": 1, "H": 1, "S": 8, "D": 8, "causal": true, "window": [3, 0]}]}')
  expect_refusal 7 'shapes[0].' -- --sweep "$SWEEP"
  expect_err 'cannot stand beside'
  SWEEP=$(write_file text.json '{"attnbench_sweep": 1, "name": "text", "shapes": [{"B": 1, "H": 1, "S": 8, "D": 8, "window": "3:0"}]}')
  expect_refusal 7 'shapes[0].window is "3:0"; give [LEFT, RIGHT], each a whole number' -- --sweep "$SWEEP"
}

@test "a head dimension of V of its own is computed, counted and told everywhere" {
  local folder
  folder=$(dirname "$ATTNBENCH")
  [ -f "$folder/example.so" ] || folder=$(make -s print-BUILD)
  must 0 attn --shape B=2,H=4/2,S=33x70,D=40,24,Dv=16,40,128,f16,f32,causal,lse --load "$folder/example.so" --device cpu --check-only \
    --variants cpu_flash,cpu_ref,example_cpu --journal "$TMP/j" --json "$TMP/r.json"
  expect_json "$TMP/r.json" 'all(r["status"] == "ok" for r in d["results"]) and len(d["results"]) == 36'
  expect_json "$TMP/r.json" '[r["key"] for r in d["results"][:18:6]] == ["B2.H4.Hkv2.Sq33.Skv70.D40.%sf16.causal.lse" % v for v in ("Dv16.", "", "Dv128.")]'
  expect_json "$TMP/r.json" 'all(("Dv" in r["shape"]) == ("Dv" in r["key"]) for r in d["results"])'
  expect_json "$TMP/r.json" 'all(r["flops"] == 2 * 2 * 4 * (r["shape"]["D"] + r["shape"].get("Dv", r["shape"]["D"])) * sum(range(38, 71))
    and r["bytes"] == 2 * (r["shape"]["D"] + r["shape"].get("Dv", r["shape"]["D"])) * (4 * 33 + 2 * 70) * (4 if r["shape"]["dtype"] == "f32" else 2)
    + 2 * 4 * 33 * 4 for r in d["results"])'
  expect_everywhere Dv Dv16
  attn --shape B=1,H=2,S=9,D=8,Dv=8,4,2 --filter 'Dv<8' --device cpu --check-only --variants cpu_ref --json "$TMP/f.json"
  expect_json "$TMP/f.json" '[r["shape"]["Dv"] for r in d["results"]] == [4, 2]'
  attn plan --gpu h200 --variants scalar,wgmma,cpu_flash --shape B=1,H=8,S=512,D=64,Dv=128,512 --json "$TMP/p.json"
  expect_json "$TMP/p.json" '[r["status"] for r in d["results"]] == ["planned", "skipped", "skipped"] + ["skipped"] * 3
    and "Dv must be D" in d["results"][1]["reason"] and "Dv must be at most 128" in d["results"][3]["reason"]'
}

@test "a soft cap is computed, counted and told everywhere" {
  local folder
  folder=$(dirname "$ATTNBENCH")
  [ -f "$folder/example.so" ] || folder=$(make -s print-BUILD)
  must 0 attn --shape B=2,H=4/2,S=33x70,D=40,f16,bf16,f32,causal,window=9:0,lse,softcap=0,50,0.5 --load "$folder/example.so" --device cpu --check-only \
    --variants cpu_flash,cpu_ref,example_cpu --journal "$TMP/j" --json "$TMP/r.json"
  expect_json "$TMP/r.json" 'all(r["status"] == "ok" for r in d["results"]) and len(d["results"]) == 54'
  expect_json "$TMP/r.json" '[r["key"].split(".", 6)[6] for r in d["results"][:9:3]] == ["f16.causal.lse", "f16.causal.softcap50.lse", "f16.causal.softcap0.5.lse"]'
  expect_json "$TMP/r.json" 'all(r["shape"].get("softcap", 0) == [0, 50, 0.5][i // 3 % 3] for i, r in enumerate(d["results"]))
    and {r["flops"] for r in d["results"] if "window" not in r["shape"]} == {4 * 2 * 4 * 40 * sum(range(38, 71))}'
  expect_everywhere softcap softcap0.5
  attn --shape B=1,H=2,S=9,D=8,softcap=0,30,50.25 --filter 'softcap>=30' --device cpu --check-only --variants cpu_ref --json "$TMP/f.json"
  expect_json "$TMP/f.json" '[r["shape"]["softcap"] for r in d["results"]] == [30, 50.25]'
  attn plan --gpu h200 --variants scalar,wgmma --shape B1.H8.S512.D64.softcap15 --json "$TMP/p.json"
  expect_json "$TMP/p.json" '[r["status"] for r in d["results"]] == ["planned", "skipped"] and "softcap must be left out" in d["results"][1]["reason"]'
  expect_refusal 2 'softcap' -- plan --gpu h200 --shape B=1,H=8,S=512,D=64,softcap=-1
  expect_refusal 2 'softcap' -- plan --gpu h200 --shape B=1,H=8,S=512,D=64,softcap=20000
  expect_refusal 2 '"0.0001" is not a value of softcap; give 0, or a number from 0.001 to 10000' -- plan --gpu h200 \
    --shape B=1,H=8,S=512,D=64,softcap=0.0001
}

@test "sinks are computed, counted and told everywhere" {
  local folder
  folder=$(dirname "$ATTNBENCH")
  [ -f "$folder/example.so" ] || folder=$(make -s print-BUILD)
  must 0 attn --shape B=2,H=4/2,S=33x70,40x20,D=40,Dv=40,16,f16,f32,causal,window=9:0,lse,sink --load "$folder/example.so" --device cpu --check-only \
    --variants cpu_flash,cpu_ref,example_cpu --journal "$TMP/j" --json "$TMP/r.json"
  expect_json "$TMP/r.json" 'all(r["status"] == "ok" for r in d["results"]) and len(d["results"]) == 48'
  expect_json "$TMP/r.json" '{r["key"].split(".", 7)[7] for r in d["results"] if "Dv" in r["shape"]} == {"%s.%s.sink.lse" % (t, m) for t in ("f16", "f32") for m in ("causal", "window9:0")}
    and all(r["shape"]["sink"] is True for r in d["results"])'
  expect_json "$TMP/r.json" 'all(r["bytes"] == 2 * (40 + r["shape"].get("Dv", 40)) * (4 * r["shape"]["Sq"] + 2 * min(r["shape"]["Skv"], r["shape"]["Sq"] + 9 if "window" in r["shape"] else 99))
    * (4 if r["shape"]["dtype"] == "f32" else 2) + 2 * 4 * r["shape"]["Sq"] * 4 + 4 * 4 for r in d["results"])'
  expect_everywhere sink sink.lse
  attn --shape B=1,H=2,S=9,D=8,lse --shape B=1,H=2,S=9,D=8,sink --filter sink --device cpu --check-only --variants cpu_ref --json "$TMP/f.json"
  expect_json "$TMP/f.json" '[r["key"].rpartition(".")[2] for r in d["results"]] == ["sink"]'
  attn plan --gpu h200 --variants scalar,wgmma --shape B1.H8.S512.D64.sink --json "$TMP/p.json"
  expect_json "$TMP/p.json" '[r["status"] for r in d["results"]] == ["planned", "skipped"] and "sink must be left out" in d["results"][1]["reason"]'
  [ "$("$ATTNBENCH" inputs --shape B1.H3.S1.D2.sink | wc -c)" -eq $(((3 * 2 * 2 * 3 + 4 * 3) * 6)) ] || fail "the sinks are no inputs"
}

@test "layouts are computed, counted and told everywhere" {
  local folder
  folder=$(dirname "$ATTNBENCH")
  [ -f "$folder/example.so" ] || folder=$(make -s print-BUILD)
  must 0 attn --shape B=2,H=4/2,S=33x70,40x20,D=40,Dv=40,16,f16,f32,causal,window=9:0,lse,bshd --shape B=2,H=3,S=33,D=24,bf16,full,softcap=5,sink,bhsd,qkv \
    --load "$folder/example.so" --device cpu --check-only --variants cpu_flash,cpu_ref,example_cpu --journal "$TMP/j" --json "$TMP/r.json"
  expect_json "$TMP/r.json" 'all(r["status"] == "ok" for r in d["results"]) and len(d["results"]) == 54'
  expect_json "$TMP/r.json" '[r["key"].rpartition(".")[2] for r in d["results"][::3]] == ["bshd"] * 16 + ["sink", "qkv"]
    and [r["shape"].get("layout") for r in d["results"][::3]] == ["bshd"] * 16 + [None, "qkv"]'
  expect_json "$TMP/r.json" 'len({(r["flops"], r["bytes"]) for r in d["results"][48:]}) == 1'
  expect_everywhere layout bshd
  attn --shape B=1,H=2,S=9,D=8,bhsd,bshd,qkv --filter layout=qkv,bhsd --device cpu --check-only --variants cpu_ref --json "$TMP/f.json"
  expect_json "$TMP/f.json" '[r["shape"].get("layout") for r in d["results"]] == [None, "qkv"]'
  attn --shape B=1,H=2,S=9,D=8,bhsd,bshd,qkv --filter bshd --device cpu --check-only --variants cpu_ref --json "$TMP/f.json"
  expect_json "$TMP/f.json" '[r["shape"]["layout"] for r in d["results"]] == ["bshd"]'
  attn plan --gpu h200 --variants scalar,wmma,cudnn --shape B1.H8.S512.D64.qkv --json "$TMP/p.json"
  expect_json "$TMP/p.json" '[r["status"] for r in d["results"]] == ["planned", "skipped", "planned"] and "layout must be bhsd" in d["results"][1]["reason"]'
  expect_refusal 2 'give Sq = Skv, Hq = Hkv and D = Dv where layout is qkv' -- plan --gpu h200 --shape B=1,H=8/2,S=512,D=64,qkv
  SWEEP=$(write_file layout.json '{"attnbench_sweep": 1, "name": "l", "shapes": [{"B": 1, "H": 1, "S": 8, "D": 8, "layout": "sbhd"}]}')
  expect_refusal 7 'layout is "sbhd"; give "bhsd", "bshd", "qkv" or "hnd"' -- --sweep "$SWEEP"
  "$ATTNBENCH" inputs --shape B2.H3.S4.D8 >"$TMP/dense"
  "$ATTNBENCH" inputs --shape B2.H3.S4.D8.qkv >"$TMP/packed"
  cmp "$TMP/dense" "$TMP/packed"
}

@test "ragged batches are computed, counted and told everywhere" {
  local folder
  folder=$(dirname "$ATTNBENCH")
  [ -f "$folder/example.so" ] || folder=$(make -s print-BUILD)
  cat >"$TMP/s.json" <<'JSON'
{"attnbench_sweep": 1, "name": "s", "defaults": {"Hq": 4, "Hkv": 2, "D": 24},
 "grid": [{"batch": ["2q33_q0s9_4q5s70_3q1s0", "q1", "40q1s70"], "dtype": ["f16", "f32"], "causal": [false, true], "lse": [false, true]},
          {"B": [1, 9], "Sq": 100, "Skv": 50, "Dv": 8, "batch": "ragged:3", "window": [[9, 2]], "sink": true}],
 "shapes": [{"Hq": 3, "Hkv": 3, "batch": "2q33_q0_q1", "layout": "qkv"}, {"B": 2, "S": 33, "batch": "uniform"}]}
JSON
  expect_valid results/sweep.schema.json "$TMP/s.json"
  must 0 attn --sweep "$TMP/s.json" --load "$folder/example.so" --device cpu --check-only --variants cpu_flash,cpu_ref,example_cpu --journal "$TMP/j" \
    --json "$TMP/r.json"
  expect_json "$TMP/r.json" 'all(r["status"] == "ok" for r in d["results"]) and len(d["results"]) == 3 * 28'
  expect_json "$TMP/r.json" '[r["key"] for r in d["results"][:9:3]] == ["B4.H3.Hkv3.Sq33.Skv33.D24.f16.full.qkv.batch2q33_q0_q1", "B2.H4.Hkv2.Sq33.Skv33.D24.f16.full",
    "B10.H4.Hkv2.Sq33.Skv70.D24.f16.full.batch2q33_q0s9_4q5s70_3q1s0"] and "batch" not in d["results"][3]["shape"]'
  python - "$TMP/r.json" <<'PY'
import json, re, sys
def draw(seed, b):
    x = (seed * 0x9e3779b9 + b + 1) & 0xffffffff
    x = ((x ^ x >> 16) * 0x21f0aaad) & 0xffffffff
    x = ((x ^ x >> 15) * 0x735a2d97) & 0xffffffff
    return x ^ x >> 15
def lengths(s):
    if s["batch"].startswith("ragged:"):
        drawn = [draw(int(s["batch"][7:]), b) for b in range(s["B"])]
        return [(1 + (x * s["Sq"] >> 32), 1 + (x * s["Skv"] >> 32)) for x in drawn]
    groups = re.findall(r"(\d*)q(\d+)(?:s(\d+))?(?:_|$)", s["batch"])
    return [(int(q), int(k or q)) for count, q, k in groups for _ in range(int(count or 1))]
for r in json.load(open(sys.argv[1]))["results"]:
    s = r["shape"]
    if "batch" not in s:
        continue
    left, right = s.get("window", [-1, 0 if s["causal"] else -1])
    size, columns, pairs, seen, tokens = 4 if s["dtype"] == "f32" else 2, s["D"] + s.get("Dv", s["D"]), 0, 0, 0
    assert s["B"] == len(lengths(s)), r["key"]
    for rows, keys in lengths(s):
        of_rows = [{j for j in range(keys) if (left < 0 or j >= i + keys - rows - left) and (right < 0 or j <= i + keys - rows + right)}
                   for i in range(rows)]
        pairs, seen, tokens = pairs + sum(map(len, of_rows)), seen + len(set().union(*of_rows)), tokens + rows
    assert r["flops"] == 2 * s["Hq"] * columns * pairs, r["key"]
    assert r["bytes"] == size * columns * (s["Hq"] * tokens + s["Hkv"] * seen) + ("lse" in s) * 4 * s["Hq"] * tokens + ("sink" in s) * 4 * s["Hq"] \
        + 8 * (s["B"] + 1), r["key"]
PY
  expect_everywhere batch batch2q33_q0s9_4q5s70_3q1s0
  attn --sweep "$TMP/s.json" --filter batch=q1,ragged:3 --device cpu --check-only --variants cpu_ref --json "$TMP/f.json"
  expect_json "$TMP/f.json" '{r["shape"]["batch"] for r in d["results"]} == {"q1", "ragged:3"}'
  attn --sweep "$TMP/s.json" --filter batch=uniform --device cpu --check-only --variants cpu_ref --json "$TMP/f.json"
  expect_json "$TMP/f.json" '[r["key"] for r in d["results"]] == ["B2.H4.Hkv2.Sq33.Skv33.D24.f16.full"]'
  attn plan --gpu h200 --variants scalar,wmma --shape H8.D64.batch2q2k_4q512s4k --shape batch=8q1024,2q2048,H=8,D=64 --json "$TMP/p.json"
  expect_json "$TMP/p.json" '[r["status"] for r in d["results"]] == ["planned", "skipped"] * 3 and "batch must be left out" in d["results"][1]["reason"]
    and [r["key"] for r in d["results"][::2]] == ["B6.H8.Hkv8.Sq2048.Skv4096.D64.f16.full.batch2q2k_4q512s4k",
      "B8.H8.Hkv8.Sq1024.Skv1024.D64.f16.full.batch8q1k", "B2.H8.Hkv8.Sq2048.Skv2048.D64.f16.full.batch2q2k"]'
  expect_refusal 2 'whose batch has B = 2, Sq = 9 and Skv = 9; leave out B, S, Sq and Skv where batch lists the sequences' -- plan --gpu h200 --shape B=3,batch=2q9,H=8,D=64
  expect_refusal 2 'leave out layout' -- plan --gpu h200 --shape batch=2q9,H=8,D=64,bshd
  expect_refusal 2 'give B of at most 1024' -- plan --gpu h200 --shape B=1025,S=9,batch=ragged:1,H=8,D=64
  expect_refusal 2 'more than 2^31 - 1 tokens' -- plan --gpu h200 --shape batch=65536q1024k,H=1,D=8
  expect_refusal 2 'D = Dv where layout is qkv' -- plan --gpu h200 --shape batch=q9s10,H=8,D=64,qkv
  expect_refusal 2 '"2q" is not a value of batch; give uniform, groups such as 2q2k_4q512s4k, or ragged:SEED' -- plan --gpu h200 --shape batch=2q,H=8,D=64
  expect_refusal 2 'has no S;' -- plan --gpu h200 --shape B=2,batch=ragged:1,H=8,D=64
  [ "$("$ATTNBENCH" inputs --shape H3.D2.batch2q1_q3s1 | wc -c)" -eq $(((3 * 2 * 2 * (5 + 3 + 3) + 2 * 4 * 4) * 3)) ] || fail "the offsets are no inputs"
}

@test "pages, shared prefixes and a V in K are computed, counted and told everywhere" {
  local folder
  folder=$(dirname "$ATTNBENCH")
  [ -f "$folder/example.so" ] || folder=$(make -s print-BUILD)
  cat >"$TMP/s.json" <<'JSON'
{"attnbench_sweep": 1, "name": "s", "defaults": {"Hq": 4, "Hkv": 2, "D": 24},
 "grid": [{"batch": ["2q3s33_q0s9_4q5s16_3q1s0"], "page": [1, 16], "dtype": ["f16", "f32"], "causal": [false, true], "layout": ["bhsd", "hnd"]},
          {"B": 3, "Sq": 5, "Skv": 70, "Dv": 8, "page": 7, "prefix": [0, 63], "v_in_k": [false, true], "window": [[9, 2]], "sink": true, "lse": true}],
 "shapes": [{"B": 2, "S": 33, "page": 0, "v_in_k": false}, {"B": 1, "Hkv": 1, "Sq": 1, "Skv": 40, "D": 576, "Dv": 512, "v_in_k": true, "page": 64},
            {"B": 3, "Sq": 5, "Skv": 40, "layout": "bshd", "v_in_k": true}]}
JSON
  expect_valid results/sweep.schema.json "$TMP/s.json"
  must 0 attn --sweep "$TMP/s.json" --load "$folder/example.so" --device cpu --check-only --variants cpu_flash,cpu_ref,example_cpu --journal "$TMP/j" \
    --json "$TMP/r.json"
  expect_json "$TMP/r.json" 'all(r["status"] == "ok" for r in d["results"]) and len(d["results"]) == 3 * 23'
  expect_json "$TMP/r.json" '[r["key"] for r in d["results"][:9:3]] == ["B2.H4.Hkv2.Sq33.Skv33.D24.f16.full", "B1.H4.Hkv1.Sq1.Skv40.D576.Dv512.f16.full.page64.v_in_k",
    "B3.H4.Hkv2.Sq5.Skv40.D24.f16.full.bshd.v_in_k"] and "page" not in d["results"][0]["shape"]'
  expect_json "$TMP/r.json" 'any(r["key"].endswith("page7.prefix63.v_in_k") and r["bytes"] == 2 * 24 * 2 * (63 - 56 + 3 * 7) + 3 * 2 * 4 + 3 * 4 * 5 * (2 * 32 + 4) + 16
    for r in d["results"])'
  expect_everywhere page page16
  expect_everywhere prefix prefix63
  expect_everywhere v_in_k v_in_k
  attn --sweep "$TMP/s.json" --filter "page>=7" --filter prefix=0 --filter v_in_k --device cpu --check-only --variants cpu_ref --json "$TMP/f.json"
  expect_json "$TMP/f.json" '[r["shape"]["page"] for r in d["results"]] == [64, 7]'
  attn plan --gpu h200 --variants scalar,decode,cudnn --shape batch=32q1s1k_8q1s16k,H=32/8,D=128,bf16,page=16 --shape B=4,H=32/8,S=1x512,D=128,page=16 \
    --shape B=2,H=16/1,S=1x512,D=96,Dv=64,v_in_k --json "$TMP/p.json"
  expect_json "$TMP/p.json" '[r["status"] for r in d["results"]] == ["planned", "skipped", "planned", "planned", "planned", "planned", "planned", "skipped", "skipped"]
    and "batch must be left out" in d["results"][1]["reason"] and "V as a tensor of its own" in d["results"][8]["reason"]'
  expect_refusal 2 'give a prefix that is a multiple of page' -- plan --gpu h200 --shape B=2,H=8,S=64,D=64,page=16,prefix=24
  expect_refusal 2 'at most the keys of the shortest sequence' -- plan --gpu h200 --shape batch=q1s64_q1s15,H=8,D=64,page=16,prefix=16
  expect_refusal 2 'give page where there is a prefix' -- plan --gpu h200 --shape B=2,H=8,S=64,D=64,prefix=16
  expect_refusal 2 'give page where layout is hnd' -- plan --gpu h200 --shape B=2,H=8,S=64,D=64,hnd
  expect_refusal 2 'leave out layout or page' -- plan --gpu h200 --shape B=2,H=8,S=64,D=64,qkv,page=16
  expect_refusal 2 'give Dv of at most D where v_in_k is true' -- plan --gpu h200 --shape B=2,H=8,S=64,D=64,Dv=72,v_in_k
  expect_refusal 2 'is not a value of page; give a whole number from 0 to 256' -- plan --gpu h200 --shape B=2,H=8,S=64,D=64,page=257
  [ "$("$ATTNBENCH" inputs --shape B1.H3.Sq1.Skv5.D2.page4.v_in_k | wc -c)" -eq $(((3 * 2 * 2 + 3 * 2 * 2 * 16 + 2 * 4) * 6)) ] || fail "pages and the table are no inputs"
}

@test "the sweeps of decoding as it is served have cases that a CPU checks" {
  local sweep sweeps=(paged serving kv8 mla_decode)
  ! is_sanitized || sweeps=("${sweeps[RANDOM % 4]}")
  for sweep in "${sweeps[@]}"; do
    must 0 attn --sweep "shapes/$sweep.json" --filter 'Skv<=300' --device cpu --check-only --variants cpu_flash --json "$TMP/r.json"
    expect_json "$TMP/r.json" '{r["status"] for r in d["results"]} == {"ok"} and len(d["results"]) >= 3'
  done
}

@test "block-sparse cases are described, computed and counted as their lists say" {
  local folder
  folder=$(dirname "$ATTNBENCH")
  cat >"$TMP/s.json" <<'JSON'
{"attnbench_sweep": 1, "name": "sparse", "defaults": {"Hq": 4, "Hkv": 2, "D": 24, "dtype": "f32"},
 "grid": [{"B": 2, "Sq": [100], "Skv": [37, 150], "causal": [false, true], "sparse": ["16:0.25+seed=5", {"block": 24, "sliding": 2, "global": 1, "random": 1}]}],
 "shapes": [{"B": 1, "S": 100, "window": [20, 3], "Dv": 8, "softcap": 30, "sink": true, "lse": true, "layout": "bshd", "sparse": {"block": 16, "density": 0.5}},
  {"batch": "2q33s70_q0s9_q40", "causal": true, "lse": true, "sparse": "16:0.5"}, {"B": 2, "S": 33, "sparse": "dense"}]}
JSON
  expect_valid results/sweep.schema.json "$TMP/s.json"
  attn --sweep "$TMP/s.json" --load "$folder/example.so" --device cpu --check-only --variants cpu_flash,cpu_ref,example_cpu --journal "$TMP/j" \
    --json "$TMP/r.json"
  expect_status 0
  expect_json "$TMP/r.json" '[r["status"] for r in d["results"]] == ["ok"] * 3 * 11'
  expect_json "$TMP/r.json" 'd["results"][0]["key"] == "B1.H4.Hkv2.Sq100.Skv100.D24.Dv8.f32.window20:3.softcap30.sink.lse.bshd.sparse16:0.5"
    and d["results"][-1]["shape"]["sparse"] == "24:sliding=2+global=1+random=1" and "sparse" not in d["results"][6]["shape"]'
  expect_everywhere sparse sparse24:sliding=2+global=1+random=1
  attn --sweep "$TMP/s.json" --filter sparse=16:0.5,dense --device cpu --check-only --variants cpu_ref --json "$TMP/f.json"
  expect_json "$TMP/f.json" '[r["shape"].get("sparse") for r in d["results"]] == ["16:0.5", "16:0.5", None]'
  attn plan --gpu h200 --variants scalar,wgmma --shape B=1,H=8,S=2048,D=64,sparse=128:0.25,64:sliding=2 --json "$TMP/p.json"
  expect_json "$TMP/p.json" '[r["status"] for r in d["results"]] == ["planned", "skipped"] * 2 and "sparse must be left out" in d["results"][1]["reason"]'
  expect_refusal 2 '"128:2" is not a value of sparse; give dense, 128:0.25 for blocks of 128 tokens, or 128:sliding=3+global=1' -- plan --gpu h200 --shape B=1,H=8,S=512,D=64,sparse=128:2
  expect_refusal 2 'give a larger block' -- plan --gpu h200 --shape B=1,H=16,S=1048576,D=64,sparse=16:0.1
}

@test "random problems over all axes at once are right" {
  local seed=$RANDOM count=60
  ! is_sanitized || count=15
  echo "tests/data/random_sweep.py $seed $count"
  python tests/data/random_sweep.py "$seed" "$count" >"$TMP/s.json"
  must 0 attn --sweep "$TMP/s.json" --device cpu --check-only --variants cpu_flash --json "$TMP/r.json"
  expect_json "$TMP/r.json" '{r["status"] for r in d["results"]} == {"ok"} and len(d["results"]) == '"$count"
}
