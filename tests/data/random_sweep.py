#!/usr/bin/env python3
"""random_sweep.py SEED COUNT [plain]: a sweep of random problems on stdout. `plain`: sizes, 16 and 32 bits, grouped heads, a causal
mask and the log-sum-exp alone, which every variant is for. Otherwise over all axes at once: lengths at and off the edges of
tiles, no keys and one key, more queries than keys, the smallest windows, caps that saturate, sinks, layouts, ragged batches, lists of
blocks, pages with and without a shared prefix, a V in K, e4m3 with scales of each kind."""
import json
import random
import sys

LENGTHS = [1, 2, 15, 16, 17, 63, 64, 65, 127, 128, 129, 200, 257, 300]


def length(draw):
    return draw.choice(LENGTHS) if draw.random() < 0.7 else draw.randint(1, 300)


def add_lengths(draw, shape, is_packed):
    """B, Sq and Skv, or sequences of unlike lengths."""
    if draw.random() < 0.4:
        def of_sequence():
            return 0 if draw.random() < 0.1 else length(draw)
        groups = []
        for _ in range(draw.randint(1, 6)):
            queries, keys = of_sequence(), of_sequence()
            groups.append(f"{draw.randint(1, 3)}q{queries}s{queries if is_packed else keys}")
        shape["batch"] = "_".join([*groups, "q33s33"])
        return
    shape["B"], shape["Sq"] = draw.randint(1, 5), length(draw)
    shape["Skv"] = shape["Sq"] if is_packed else length(draw)
    if draw.random() < 0.3:
        shape["batch"] = f"ragged:{draw.randint(0, 999)}"


def shape_of(draw):
    layout = draw.choice(["bhsd", "bhsd", "bshd", "qkv"])
    group, kv_heads, dim = draw.choice([1, 1, 2, 4]), draw.randint(1, 3), draw.choice([8, 24, 40, 64, 96, 128])
    is_packed = layout == "qkv"
    shape = {"Hq": kv_heads if is_packed else group * kv_heads, "Hkv": kv_heads, "D": dim, "dtype": draw.choice(["f16", "bf16", "f32", "e4m3"])}
    add_lengths(draw, shape, is_packed)
    if not is_packed and draw.random() < 0.3:
        shape["Dv"] = draw.choice([8, 16, 64, 72, 128])
    if draw.random() < 0.4:
        shape["window"] = [draw.choice([-1, 0, 1, 16, 63, 100]), draw.choice([-1, 0, 1, 5, 64])]
    else:
        shape["causal"] = draw.random() < 0.6
    for key, values in (("softcap", [0.01, 1, 50]), ("sink", [True]), ("lse", [True])):
        if draw.random() < 0.4:
            shape[key] = draw.choice(values)
    if shape["dtype"] != "e4m3" and not is_packed and draw.random() < 0.2:
        shape["kv_dtype"] = "e4m3"
    if "e4m3" in (shape["dtype"], shape.get("kv_dtype")):
        shape["scales"] = draw.choice(["head", "tensor", "block:128"])
    if shape["dtype"] == "e4m3" and draw.random() < 0.4:
        shape["out_dtype"] = draw.choice(["f16", "f32"])
    if draw.random() < 0.1:
        shape["outliers"] = 0.001
    if draw.random() < 0.3:
        block, seed = draw.choice([16, 24, 32, 64, 100, 128]), draw.randint(0, 99)
        pattern = f"sliding={draw.randint(1, 3)}+global={draw.randint(0, 2)}+random={draw.randint(0, 2)}"
        shape["sparse"] = f"{block}:{draw.choice([pattern, '0.01', '0.1', '0.5', '0.9', '1'])}+seed={seed}"
    if layout != "bhsd" and not ("batch" in shape and layout == "bshd"):
        shape["layout"] = layout
    add_cache(draw, shape)
    return shape


def plain_shape_of(draw):
    group, kv_heads = draw.choice([1, 1, 2, 4]), draw.randint(1, 3)
    return {"B": draw.randint(1, 5), "Hq": group * kv_heads, "Hkv": kv_heads, "Sq": length(draw), "Skv": length(draw),
            "D": draw.choice([40, 64, 64, 96, 128, 128]), "dtype": draw.choice(["f16", "f16", "bf16", "f32"]),
            "causal": draw.random() < 0.5, "lse": draw.random() < 0.2}


def least_keys(shape):
    """Of the shortest sequence."""
    if "batch" not in shape:
        return shape["Skv"]
    return 1 if shape["batch"].startswith("ragged") else min(int(group.partition("s")[2]) for group in shape["batch"].split("_"))


def add_cache(draw, shape):
    """Pages in one of two orders, keys that sequences share, V in K."""
    if shape.get("layout") == "qkv":
        return
    if "sparse" not in shape and draw.random() < 0.4:
        shape["page"] = draw.choice([1, 2, 15, 16, 64, 256])
        if "layout" not in shape and draw.random() < 0.5:
            shape["layout"] = "hnd"
        if draw.random() < 0.5 and shape.get("scales", "tensor") == "tensor":
            shape["prefix"] = least_keys(shape) // shape["page"] * shape["page"]
    if shape.get("Dv", 0) <= shape["D"] and "scales" not in shape and draw.random() < 0.3:
        shape["v_in_k"] = True


def main():
    draw, shapes = random.Random(int(sys.argv[1])), {}
    draw_one = plain_shape_of if sys.argv[3:] == ["plain"] else shape_of
    while len(shapes) < int(sys.argv[2]):
        shape = draw_one(draw)
        shapes[json.dumps(shape, sort_keys=True)] = shape
    json.dump({"attnbench_sweep": 1, "name": f"random_{sys.argv[1]}", "shapes": list(shapes.values())}, sys.stdout, indent=1)


main()
