#!/usr/bin/env python3
"""Prints a sweep of random shapes: lengths at and beside the edges of tiles, Sq != Skv, rows without keys, head groups.

  tests/data/random_sweep.py SEED COUNT [--most-d D] [--most-s S]
"""
import argparse
import json
import random

EDGES = (16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 240, 256, 320, 384, 480, 512, 576, 640)
COMMON_D = (64,) * 6 + (128,) * 6 + (96, 192, 256, 256)
OTHER_D = (4, 8, 12, 16, 20, 24, 32, 40, 48, 56, 68, 72, 80, 88, 100, 104, 112, 120, 136, 160, 176, 200, 208, 224, 240,
           248, 264, 300)


def length(draw, most):
    if draw.random() < 0.25:
        return draw.randint(1, most)
    return max(1, min(most, draw.choice(EDGES) + draw.choice((-2, -1, 0, 0, 1, 2))))


def shape(draw, most_d, most_s):
    ratio, kv_heads = draw.choice((1, 1, 2, 3, 4, 8)), draw.choice((1, 1, 2, 3, 5))
    queries = draw.choice((1, 2, 3, 4, 7, 16)) if draw.random() < 0.3 else length(draw, most_s)
    keys = queries if draw.random() < 0.3 else length(draw, most_s + most_s // 3)
    d = min(most_d, draw.choice(COMMON_D + OTHER_D))
    return {"B": draw.choice((1, 1, 2, 3)), "Hq": kv_heads * ratio, "Hkv": kv_heads, "Sq": queries, "Skv": keys, "D": d,
            "dtype": draw.choice(("f16", "f16", "bf16", "f32")), "causal": draw.random() < 0.6}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seed", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("--most-d", type=int, default=300)
    parser.add_argument("--most-s", type=int, default=520)
    args = parser.parse_args()
    draw, shapes = random.Random(args.seed), {}
    while len(shapes) < args.count:
        drawn = shape(draw, args.most_d, args.most_s)
        shapes[json.dumps(drawn)] = drawn
    print(json.dumps({"attnbench_sweep": 1, "name": f"random_{args.seed}", "about": "random shapes",
                      "shapes": list(shapes.values())}))


if __name__ == "__main__":
    main()
