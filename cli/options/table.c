/* The table of verbs and the table of options. */
#include "cli/options/table.h"

#include <string.h>

#include "kernels/gpu_models.h"

static const struct verb_row verbs[VERB_COUNT] = {
    [VERB_RUN] = {"run", "measure kernels over the shapes of a sweep (the default)",
                  "attnbench [run] --sweep FILE [options]", "measure a sweep (the default)", "attnbench --sweep v3",
                  0, 0},
    [VERB_PLAN] = {"plan", "launch geometry and findings for a GPU that need not be here",
                   "attnbench plan --sweep FILE --gpu NAME [options]",
                   "launch geometry and findings for a named GPU, which need not be here",
                   "attnbench plan --sweep v3 --gpu " GPU_MODEL_DEFAULT, 0, 0},
    [VERB_LIST] = {"list", "kernel variants, their limits and tunables, and where they run",
                   "attnbench list [NAME...] [--json] [--load FILE]",
                   "the kernel variants, or those named, and where they run", "attnbench list wgmma auto", 0,
                   OPTIONS_NAMES_MAX, "name"},
    [VERB_REPORT] = {"report", "rebuild a report from its journal; saved reports side by side",
                     "attnbench report JOURNAL|REPORT.json... [options]",
                     "rebuild the reports of a run from its journal, or show saved JSON reports side by side",
                     "attnbench report run.journal --json -", 1, OPTIONS_LIST_MAX},
    [VERB_MERGE] =
        {"merge", "one report from the journals of a run's shards", "attnbench merge JOURNAL... [options]",
         "join the journals of a run's shards (--shard) into one report; together they must have every cell once",
         "attnbench merge shard*.journal --json report.json", 1, OPTIONS_LIST_MAX, "journal"},
    [VERB_DIAGNOSE] = {"diagnose", "recompute rates and findings, of a report or of times by hand",
                       "attnbench diagnose JOURNAL|REPORT.json [options]",
                       "recompute rates and findings from a journal, a JSON report, or times entered by hand, and "
                       "show every finding",
                       "attnbench diagnose report.json", 1, 1},
    [VERB_SELFTEST] = {"selftest", "can the timer be trusted on this machine?",
                       "attnbench --selftest [--device NAME] [--json FILE]",
                       "test the timer with launches of known duration: can its times be trusted on this machine?",
                       "attnbench --selftest", 0, 0},
    [VERB_AB] = {"ab", "is this program slower than another? Measures both in turns",
                 "attnbench ab --base PROGRAM|--base-load FILE --sweep FILE [options]",
                 "is this program slower than another attnbench, or a kernel of yours slower than it was? Runs fresh "
                 "processes of "
                 "both in turns on one device",
                 "attnbench ab --base ../main/attnbench --sweep v3", 0, 0},
    [VERB_COMPARE] = {"compare", "is a new report slower than an old one?", "attnbench compare BASE NEW [options]",
                      "is the new report slower than the base? Takes reports or journals of several rounds; the exit "
                      "code is the answer",
                      "attnbench compare base.json new.json", 2, 2},
    [VERB_HISTORY] = {"history", "speed over many runs, and the commits that changed it",
                      "attnbench history FOLDER|JOURNAL|REPORT.json... [options]",
                      "the speed of each cell over many runs, and the commits that changed it: reads journals and "
                      "reports, and all of those in a folder. Exit code 1: a cell is slower since some commit",
                      "attnbench history runs/ --html history.html", 1, OPTIONS_LIST_MAX, "folder or report"},
    [VERB_GATE] = {"gate", "how often the gate errs on this machine",
                   "attnbench gate --selftest --sweep FILE|--from FILE [options]",
                   "how often the gate raises a false alarm, and how small a slowdown it finds, on this machine",
                   "attnbench gate --selftest --sweep v3", 0, 0},
    [VERB_TUNE] = {"tune", "search a variant's tunables for the fastest",
                   "attnbench tune --sweep FILE --variant NAME [options]",
                   "find the fastest tunables of a variant for each case on this device",
                   "attnbench tune --sweep v3 --variant split_kv", 0, 0},
    [VERB_DESCRIBE] = {"describe", "explain a word: a variant, column, status, finding, ...",
                       "attnbench describe [WORD...] [--shape SPEC] [--gpu NAME]",
                       "explain a variant, a column of the table (waves), a status (wrong), a finding, a verdict, an "
                       "exit code (4), a key of the problem (causal), a task (resume) or another word of the pages "
                       "(round); for a variant, also what it launches for a shape. attnbench describe problem lists "
                       "the keys; without a WORD all words are listed",
                       "attnbench describe wgmma", 0, OPTIONS_NAMES_MAX, "word"},
    [VERB_GENERATE] = {"generate", "the man page, or completion for bash, zsh or fish",
                       "attnbench generate man|bash|zsh|fish", "print the man page, or a shell's completion script",
                       "source <(attnbench generate bash)", 1, 1, "name"},
    [VERB_INPUTS] = {"inputs", "the tensors of a check as raw numbers, for other programs",
                     "attnbench inputs --shape SPEC [--seed N]",
                     "write the input tensors that the check and the timing of a case use (Q, K, V, sinks), as raw "
                     "numbers on stdout: for kernels that attnbench cannot load",
                     "attnbench inputs --shape B=1,H=8,S=512,D=64 >inputs.bin", 0, 0},
    [VERB_WORKER] = {"worker", NULL, NULL, NULL, NULL, 0, 0},
    [VERB_OBJECT] = {"describe-object", NULL, NULL, NULL, NULL, 0, 0},
    [VERB_MEASURE_SELF] = {"measure-self", NULL, NULL, NULL, NULL, 0, 0},
    [VERB_COMPLETE] = {"complete", NULL, NULL, NULL, NULL, 0, OPTIONS_LIST_MAX, "word"},
};

#define IN(verb) (1u << VERB_##verb)
/* Verbs that measure a sweep; that end with one comparison; that judge. */
#define MEASURES (IN(RUN) | IN(AB) | IN(GATE))
#define TRIES    (MEASURES | IN(TUNE)) /* and what tries tunables on it */
#define COMPARES (IN(RUN) | IN(AB) | IN(COMPARE))
#define JUDGES   (COMPARES | IN(GATE))
/* Verbs that print a table or a verdict. */
#define PRINTS (JUDGES | IN(TUNE) | IN(PLAN) | IN(REPORT) | IN(MERGE) | IN(DIAGNOSE) | IN(SELFTEST) | IN(HISTORY))

#define AT(member)                  .offset = offsetof(struct options, member)
#define TEXT(member)                .kind = OPTION_TEXT, AT(member)
#define CHOICE(member)              .kind = OPTION_CHOICE, AT(member)
#define FLAG(member)                .kind = OPTION_FLAG, AT(member)
#define COUNT(member, low, high)    .kind = OPTION_COUNT, AT(member), .least = (low), .most = (high)
#define WORD(member)                .kind = OPTION_WORD, AT(member)
#define WHOLE(member, low, high)    .kind = OPTION_WHOLE, AT(member), .least = (low), .most = (high)
#define NUMBER(member, low, high)   .kind = OPTION_NUMBER, AT(member), .least = (low), .most = (high)
#define DURATION(member, low, high) .kind = OPTION_DURATION, AT(member), .least = (low), .most = (high)
#define LIST(member, high)          .kind = OPTION_LIST, AT(member), .most = (high)
#define FLAGS(...)                  .flags = (__VA_ARGS__)

#define BASELINE "--baseline"

/* Of the registry, then groups of them. */
static const char *variant_or_group(size_t index) {
  return index < variant_count() ? variant_at(index)->name : variant_group_name(index - variant_count());
}
static const char *mode_name(size_t index) {
  static const char *const names[] = {"hot", "cold", "steady"};
  return index < sizeof names / sizeof *names ? names[index] : NULL;
}

static const struct option_row rows[] = {
    {"Input", "--sweep", "FILE", TRIES | IN(PLAN), TEXT(sweep), FLAGS(OPTION_READS | OPTION_RELAYED),
     .required_by = IN(RUN) | IN(PLAN) | IN(AB) | IN(TUNE), .instead = "--shape", .names = shipped_name,
     .brief = "what to measure: a file, or a shipped sweep, such as v3",
     .help = "sweep to measure: a file (format: shapes/README.md), or the name of one that attnbench comes with, "
             "such as v3"},
    {"Input", "--shape", "SPEC", TRIES | IN(PLAN) | IN(INPUTS) | IN(DESCRIBE), LIST(shape, OPTIONS_SHAPES_MAX),
     FLAGS(OPTION_RELAYED | OPTION_STAYS), .required_by = IN(INPUTS), .instead = "--sweep",
     .brief = "the same without a file: B=1,H=8,S=512:4096:*2,D=64,causal",
     .help =
         "shapes to measure instead of a sweep: B=1,H=8,S=512,D=64; lists S=512,1024; ranges S=512:4096:*2 or "
         "S=64:256:+64; H=32/8 query/KV heads; S=1x4096 query rows x keys; words such as bf16, causal and lse stand "
         "alone; or a case's key as reports have it; repeat for more. attnbench describe problem lists the keys"},
    {"Input", "--since", "DATE", IN(HISTORY), TEXT(since),
     .help = "leave out runs that started before DATE, such as 2026-11-20"},
    {"Input", "--commits", "FILE", IN(HISTORY), TEXT(commits), FLAGS(OPTION_READS),
     .help = "order the runs by this list of commits, oldest first, one in front of each line (git log --reverse "
             "--format=%H), instead of by their dates; runs of other commits are left out"},
    {"Input", "--counters", "FILE", IN(REPORT), TEXT(counters), FLAGS(OPTION_READS),
     .help = "add a profiler's counters, as scripts/profile_sweep.py writes them, to the rows of one report"},
    {"Input", "--evidence", "FILE", IN(DIAGNOSE), TEXT(evidence), FLAGS(OPTION_READS),
     .help = "another report or journal of the same GPU. A finding quotes the time of the row there that made the "
             "advised change; advice that made its row slower there is left out"},
    {"Input", "--base", "PROGRAM", IN(AB), TEXT(base), FLAGS(OPTION_READS | OPTION_STAYS),
     .help = "the attnbench to compare with"},
    {"Input", "--base-load", "FILE", IN(AB), LIST(base_load, OPTIONS_LOADS_MAX), FLAGS(OPTION_READS | OPTION_STAYS),
     .help = "shared object that the base loads instead of those of --load, such as an older build of your kernel; "
             "repeat for more. Without --base, the base is this program"},
    {"Input", "--candidate", "PROGRAM", IN(AB), TEXT(candidate), FLAGS(OPTION_READS | OPTION_STAYS),
     .help = "the attnbench to judge; by default this one"},
    {"Input", "--start-with", "PROGRAM", IN(AB), TEXT(start_with), FLAGS(OPTION_READS), .needs = "--candidate",
     .help =
         "start every process as PROGRAM ATTNBENCH ARGUMENTS, such as with scripts/gate_apart.sh, which confines it"},
    {"Input", BASELINE, "FILE", IN(RUN), TEXT(baseline), FLAGS(OPTION_READS | OPTION_TIMED | OPTION_STAYS),
     .help = "compare with this report or journal, which must have at least 5 rounds and be measured in the same "
             "way; the exit code is that of the comparison"},

    {"Selection", "--variants", "A,B", MEASURES | IN(PLAN), TEXT(variants), FLAGS(OPTION_RELAYED),
     .names = variant_or_group, .brief = "kernels, separated by commas; attnbench list has them",
     .help =
         "variants to measure instead of the sweep's, with commas between them: NAME, NAME:KEY=VALUE,KEY=VALUE, or a "
         "group: all (all but auto), loaded (those of --load), ours (built in, except auto and vendors' libraries), "
         "ladder (kernels that each add one idea to the one before), specimens (kernels that are slow for one "
         "known reason)"},
    {"Selection", "--variant", "NAME", IN(TUNE), TEXT(variants), .required_by = IN(TUNE), .names = variant_or_group,
     .help = "variant whose tunables are searched: NAME, or NAME:KEY=VALUE to keep a tunable as it is"},
    {"Selection", "--variants", "A,B", IN(REPORT) | IN(DIAGNOSE) | IN(HISTORY), TEXT(variants),
     .names = variant_or_group,
     .help = "show only the rows of these variants: NAME, or NAME:KEY=VALUE,KEY=VALUE, with commas between them"},
    {"Selection", "--filter", "TEST", IN(REPORT) | IN(DIAGNOSE) | IN(HISTORY), LIST(filter, 16),
     .help = "show only the cases that meet the test, as for run; repeat to narrow further"},
    {"Selection", "--filter", "TEST", TRIES | IN(PLAN), LIST(filter, 16), FLAGS(OPTION_RELAYED),
     .brief = "only these cases: S=512, D>=128, causal, dtype=bf16",
     .help = "measure only the cases that meet the test: S=512, S=128,200, S>=1024, B!=1, dtype=bf16, causal, or a "
             "case's key; repeat "
             "to narrow further. attnbench describe problem lists the keys"},
    {"Selection", "--only", "KEY/VARIANT", MEASURES, LIST(only, OPTIONS_LIST_MAX), FLAGS(OPTION_RELAYED),
     .help = "measure only this cell, named as in reports, or all variants of the case KEY; either may be a glob, "
             "such as '*/wgmma'; repeat for more"},
    {"Selection", "--shard", "I/N|auto", IN(RUN), TEXT(shard),
     .help = "measure only part I of N. Every process deals the cases to the N shards in the same way. Measure each "
             "shard into a journal of its own, then join them with attnbench merge. auto takes I and N from Slurm "
             "(array or tasks), Open MPI or PMI"},
    {"Selection", "--load", "FILE", TRIES | IN(PLAN) | IN(LIST) | IN(WORKER) | IN(OBJECT) | IN(DESCRIBE),
     LIST(load, OPTIONS_LOADS_MAX), FLAGS(OPTION_READS | OPTION_RELAYED | OPTION_STAYS),
     .brief = "your kernel: ./mine.so, mine.py:FUNCTION or kernel.json",
     .help = "kernels of your own: a shared object, the manifest of a compiled kernel (kernel.json), or a Python "
             "function (FILE.py:FUNCTION or package.module:FUNCTION; NAME=FILE.py:FUNCTION gives it another name); "
             "kernels/example/README.md has all of them; repeat for more. Without --variants, and with a sweep that "
             "names none of them, only they and the vendor's library are measured"},

    {"Device", "--device", "NAME", TRIES | IN(WORKER) | IN(SELFTEST) | IN(MEASURE_SELF), TEXT(device),
     FLAGS(OPTION_RELAYED | OPTION_STAYS), .default_value = "auto", .brief = "auto, cpu, cuda or cuda:1",
     .help = "auto, cpu, cuda or cuda:N; auto takes a GPU when there is one"},
    {"Device", "--devices", "N,M|all", IN(RUN), TEXT(devices), .instead = "--device",
     .help = "measure with several GPUs at once, numbered as in --device cuda:N. Each GPU takes the next case when "
             "it has finished one. All rows of a case, their rounds and references are measured by one GPU, which "
             "the rows name. When a GPU fails for good, the others take its cases"},
    {"Device", "--gpu", "NAME", IN(PLAN), TEXT(gpu), .required_by = IN(PLAN), .choices = gpu_model_names,
     .help = "the GPU to plan for:"},
    {"Device", "--gpu", "NAME", IN(DESCRIBE), TEXT(gpu), .default_value = GPU_MODEL_DEFAULT,
     .choices = gpu_model_names, .help = "the GPU whose launches are shown:"},
    {"Device", "--gpu", "NAME", IN(RUN), TEXT(gpu), .default_value = GPU_MODEL_DEFAULT, .choices = gpu_model_names,
     .help = "on a machine without a GPU, plan the rows of GPU variants for this one:"},

    {"Measuring", "--reference", "NAME", IN(RUN), TEXT(reference), FLAGS(OPTION_TIMED | OPTION_STAYS),
     .names = variant_or_group, .brief = "the kernel that the others are timed against in turns",
     .help = "variant that every row is timed against in turns (speedup_vs), or none. By default it is the vendor's "
             "library where that takes the shape, and none on a CPU. The interval of such a ratio holds within the "
             "process that measured it"},
    {"Measuring", "--rounds", "N", IN(RUN), WHOLE(rounds, 1, 64), FLAGS(OPTION_TIMED),
     .brief = "number of fresh processes; a comparison needs several",
     .help =
         "fresh processes, each of which measures every cell once; results/gate.md says how many a comparison needs. "
         "By default 1, with --baseline 5"},
    {"Measuring", "--rounds", "N", IN(AB), WHOLE(rounds, 5, 32),
     .help = "fresh processes of each program. By default 3, then 5 or 7 where a verdict is not clear yet"},
    {"Measuring", "--modes", "A,B", IN(RUN) | IN(AB), TEXT(modes), FLAGS(OPTION_RELAYED | OPTION_STAYS),
     .names = mode_name, .default_value = "hot,cold",
     .brief = "hot,cold; steady: sustained speed under the power limit",
     .help =
         "which times are taken: hot is the time per launch inside a CUDA graph of launches back to back; cold "
         "is the time of one launch after the L2 cache was flushed; steady is the time per launch back to back once "
         "power and clock have settled: the sustained speed under the power limit. A steady time takes some seconds "
         "for each row, and up to 13 seconds more for the reference of the row"},
    {"Measuring", "--quick", NULL, IN(RUN), FLAG(quick), FLAGS(OPTION_STAYS),
     .help = "spend less time on each cell, for many rounds; ab always does"},
    {"Measuring", "--seed", "N", TRIES | IN(INPUTS), WHOLE(seed, 0, 18446744073709551615.0),
     FLAGS(OPTION_RELAYED | OPTION_STAYS), .default_value = "1", .help = "seed of the inputs"},
    {"Measuring", "--timeout", "SECONDS", MEASURES | IN(SELFTEST), NUMBER(timeout, 0.001, 86400),
     FLAGS(OPTION_RELAYED | OPTION_STAYS), .default_value = "300",
     .help = "stop a cell, or the self-test, after this many seconds"},
    {"Measuring", "--timeout", "SECONDS", IN(TUNE), NUMBER(timeout, 0.001, 86400), .default_value = "30",
     .help = "stop a tuning's measurement after this many seconds; it is then not among the fastest"},
    {"Measuring", "--budget", "SECONDS", IN(TUNE), NUMBER(budget, 0.001, 1e6), .default_value = "60",
     .help = "time for trying tunings, over all cases. Tunings for which it is too short are not tried. The "
             "comparison of the best tuning with the default takes more time on top"},
    {"Measuring", "--mode", "hot|cold", IN(TUNE), CHOICE(mode), .default_value = "hot",
     .help = "which time the search minimises"},
    {"Measuring", "--order", "sweep|seeded|shortest", IN(RUN), CHOICE(order),
     .help = "the order in which cells are measured: the sweep's (the default), a random one that --seed determines, "
             "or the least work first. Reports always have the sweep's order"},
    {"Measuring", "--time-budget", "TIME", IN(RUN), DURATION(time_budget, 1, 31536000),
     .help = "stop after this time (90s, 30min, 2h). The shortest cells are measured first. Cells for which no "
             "time is left are reported as left_out; a later run with --resume measures them"},
    {"Measuring", "--sentinel", "N", IN(RUN), WHOLE(sentinel, 1, 10000), FLAGS(OPTION_TIMED),
     .help = "after every N cells, measure the first timed cell again, and report how its time drifts"},
    {"Measuring", "--cool-down", "TIME", IN(RUN), DURATION(cool_down, 0.1, 3600), FLAGS(OPTION_TIMED),
     .help = "wait this long after a cell during which temperature or power supply slowed the GPU down"},
    {"Measuring", "--check-only", NULL, IN(RUN), FLAG(check_only), FLAGS(OPTION_UNTIMED),
     .brief = "check results, take no times", .help = "check results, take no times"},
    {"Measuring", "--profile", "[=N]", IN(RUN), COUNT(profile, 1, 1000), FLAGS(OPTION_UNTIMED),
     .help =
         "for nsys and ncu: one process, checks and warm-up first, then exactly N launches of each cell between "
         "cudaProfilerStart and cudaProfilerStop and in the NVTX range profile of domain attnbench; takes no times"},

    {"Gate", "--threshold", "PERCENT", JUDGES, NUMBER(threshold, SWEEP_GATE_PERCENT_MIN, SWEEP_GATE_PERCENT_MAX),
     FLAGS(OPTION_STAYS), .needs = BASELINE,
     .help = "fail on slowdowns of PERCENT or more; by default the sweep's value, else 2"},
    {"Gate", "--threshold-for", "GLOB=PERCENT", JUDGES, LIST(threshold_for, OPTIONS_THRESHOLDS_MAX),
     FLAGS(OPTION_STAYS), .needs = BASELINE,
     .help = "the threshold of cells whose KEY/VARIANT matches GLOB; repeat for more, the last match wins"},
    {"Gate", "--floor-us", "US", JUDGES, NUMBER(floor_us, 0, 5), FLAGS(OPTION_STAYS), .needs = BASELINE,
     .help = "ignore differences below this many microseconds; by default 0.1 hot and 0.15 cold"},
    {"Gate", "--modes", "A,B", IN(COMPARE) | IN(GATE), TEXT(modes), FLAGS(OPTION_STAYS), .names = mode_name,
     .default_value = "hot,cold", .help = "which times are judged: hot, cold, steady"},
    {"Gate", "--allow-new", NULL, COMPARES, FLAG(allow_new), .needs = BASELINE,
     .help = "accept cells that are missing from the base"},
    {"Gate", "--allow-edited", NULL, IN(COMPARE) | IN(RUN) | IN(GATE) | IN(DIAGNOSE) | IN(HISTORY),
     FLAG(allow_edited),
     .help = "accept a report that was changed after attnbench wrote it, so that its checksum does not match; the "
             "verdict names it"},
    {"Gate", "--noise", "fail|warn", COMPARES, CHOICE(noise), .needs = BASELINE,
     .help = "when noise leaves a cell undecided, end with exit code 5 (fail, the default) or only show it (warn)"},
    {"Gate", "--selftest", NULL, IN(GATE), FLAG(selftest),
     .help = "measure many processes and draw gate runs from them, with and without slowdowns, to count false alarms "
             "and slowdowns found; then find real slowdowns in real gate runs"},
    {"Gate", "--from", "FILE", IN(GATE), TEXT(from), FLAGS(OPTION_READS),
     .help = "draw from this report or journal of many rounds instead of measuring a sweep"},
    {"Gate", "--processes", "N", IN(GATE), WHOLE(processes, 10, 64), .default_value = "28",
     .help = "fresh processes that measure the sweep: at least twice --rounds, better four times"},
    {"Gate", "--controls", "N", IN(GATE), WHOLE(controls, 0, 20),
     .help = "real gate runs in which one of the longest cells is made slower by one and a half thresholds. By "
             "default 3; with --from there are none"},
    {"Gate", "--rounds", "N", IN(GATE), WHOLE(rounds, 5, 32),
     .help =
         "processes of each side in a gate run, 7 by default. Without this option a gate in pairs ends as soon as ab "
         "would, after 3, 5 or 7"},

    {"Testing", "--selftest", NULL, IN(SELFTEST), FLAG(selftest),
     .help = "test the timer and nothing else: delays of 20 us to 10 ms, events, graphs, the L2 flush, clocks"},
    {"Testing", "--inject-slowdown", "GLOB:PERCENT", IN(RUN) | IN(AB), TEXT(inject),
     FLAGS(OPTION_TIMED | OPTION_RELAYED_TO_CANDIDATE | OPTION_STAYS),
     .help = "make cells whose KEY/VARIANT matches GLOB slower by PERCENT (above 0, at most 1000), with a calibrated "
             "delay on the device. The gate can then be tested with a slowdown of known size"},

    {"Output", "--json", "FILE", IN(RUN) | IN(PLAN) | IN(REPORT) | IN(MERGE) | IN(DIAGNOSE) | IN(AB), TEXT(json),
     FLAGS(OPTION_WRITES), .brief = "write the report as JSON; --csv and --html likewise",
     .help = "write the report as JSON (ab: the candidate's)"},
    {"Output", "--json", "FILE", IN(COMPARE), TEXT(compare_json), FLAGS(OPTION_WRITES),
     .help = "write the comparison as JSON"},
    {"Output", "--json", "FILE", IN(GATE) | IN(SELFTEST), TEXT(json), FLAGS(OPTION_WRITES),
     .help = "write the result of the self-test as JSON"},
    {"Output", "--json", "FILE", IN(TUNE), TEXT(json), FLAGS(OPTION_WRITES),
     .help =
         "write a sweep for later runs: the tuned cases, with the default and the best tunings as variants. In a run "
         "of that sweep, where the variant `auto` picks the tuned variant, it uses the best tuning"},
    {"Output", "--json", "FILE", IN(HISTORY), TEXT(json), FLAGS(OPTION_WRITES),
     .help = "write series, changes and points as JSON"},
    {"Output", "--csv", "FILE", IN(HISTORY), TEXT(csv), FLAGS(OPTION_WRITES),
     .help = "write a row for each point of each series as CSV"},
    {"Output", "--html", "FILE", IN(HISTORY), TEXT(html), FLAGS(OPTION_WRITES),
     .help = "write the changes and a curve of each series as one page for a browser; needs no network"},
    {"Output", "--bisect", NULL, IN(HISTORY), FLAG(bisect),
     .help = "print, instead of the table, the command that lets git bisect find the commit of each slowdown; "
             "scripts/bisect.sh measures each step"},
    {"Output", "--base-json", "FILE", IN(AB), TEXT(base_json), FLAGS(OPTION_WRITES),
     .help = "write the base's report as JSON"},
    {"Output", "--compare-json", "FILE", IN(RUN) | IN(AB), TEXT(compare_json), FLAGS(OPTION_WRITES),
     .needs = BASELINE, .help = "write the comparison as JSON"},
    {"Output", "--markdown", "FILE", COMPARES | IN(REPORT), TEXT(markdown), FLAGS(OPTION_WRITES),
     .help = "write the comparison, where one is made, else the report, as Markdown"},
    {"Output", "--junit", "FILE", COMPARES | IN(REPORT), TEXT(junit), FLAGS(OPTION_WRITES),
     .help = "write the comparison, where one is made, else the report, as JUnit XML"},
    {"Output", "--annotations", "FILE", COMPARES | IN(REPORT), TEXT(annotations), FLAGS(OPTION_WRITES),
     .help = "write what failed in the comparison, where one is made, else in the report, as GitHub annotations"},
    {"Output", "--csv", "FILE", IN(RUN) | IN(PLAN) | IN(REPORT) | IN(MERGE) | IN(DIAGNOSE), TEXT(csv),
     FLAGS(OPTION_WRITES), .help = "write the report as CSV"},
    {"Output", "--gbench", "FILE", IN(RUN) | IN(REPORT) | IN(MERGE) | IN(DIAGNOSE), TEXT(gbench),
     FLAGS(OPTION_WRITES), .help = "write times and rates as google-benchmark's JSON, which dashboards read"},
    {"Output", "--html", "FILE", IN(RUN) | IN(PLAN) | IN(REPORT) | IN(MERGE) | IN(DIAGNOSE), TEXT(html),
     FLAGS(OPTION_WRITES),
     .help = "write the report, or several, as one page for a browser: table, figures, findings; needs no network"},
    {"Output", "--html", "FILE", IN(COMPARE) | IN(AB), TEXT(compare_html), FLAGS(OPTION_WRITES),
     .help = "write the comparison and both reports as one page for a browser; needs no network"},
    {"Output", "--journal", "FILE", IN(RUN) | IN(GATE) | IN(TUNE), TEXT(journal), FLAGS(OPTION_WRITES),
     .brief = "keep each cell as it is done; --resume measures the rest",
     .help = "keep the journal here (one JSON line per finished cell)"},
    {"Output", "--resume", "[=anyway]", IN(RUN) | IN(GATE) | IN(TUNE), WORD(resume), .needs = "--journal",
     .help = "measure what the journal does not have yet; without a journal, begin one. A journal of another sweep, "
             "selection, device or program is refused; with =anyway it is taken, and the rows that are measured now "
             "are marked"},
    {"Output", "--commit", "HASH", IN(RUN), TEXT(commit),
     .help =
         "the commit of the measured kernel, where it lies in another repository than attnbench; reports name it, "
         "and history looks for changes between such commits"},
    {"Output", "--samples", NULL, IN(RUN), FLAG(samples), FLAGS(OPTION_TIMED),
     .help = "keep every sample of every time in the journal and the JSON report, as samples_us, so that statistics "
             "can be redone from them"},
    {"Output", "--keep", "FOLDER", IN(AB), TEXT(keep),
     .help = "keep every process's journal and messages in this new or empty folder"},
    {"Output", "--resume", NULL, IN(AB), FLAG(resume_kept), .needs = "--keep",
     .help = "resume a comparison that was cut off, from the processes in the folder of --keep; begin one when "
             "the folder has none. A comparison with other options, programs or rounds is refused"},
    {"Output", "--quiet", NULL, PRINTS, FLAG(quiet),
     .help = "print no table and no progress; errors and why the exit code is not 0 still go to stderr"},
    {"Output", "--json", NULL, IN(LIST), FLAG(list_json), .help = "list as JSON"},
    {"Output", "--across-devices", NULL, IN(MERGE), FLAG(across_devices),
     .help = "accept shards of unlike devices. Rows of another device than the first journal's are marked, and no "
             "comparison takes them"},
    {"Output", "--across-devices", NULL, IN(REPORT), FLAG(across_devices),
     .help = "show reports of unlike devices together. Times are then compared within a device only"},

    {"Help", "--help", NULL, ~0u, FLAG(help), .letter = "-h",
     .help = "help on one screen; all of it: attnbench --help all; of one verb: attnbench VERB --help"},
    {"Help", "--version", NULL, ~0u, FLAG(version), .letter = "-V", .help = "version, git commit, CUDA and cJSON"},
};
enum { ROW_COUNT = sizeof rows / sizeof *rows };

const struct verb_row *options_table_verb(enum verb verb) { return &verbs[verb]; }

const struct option_row *options_table_next(enum verb verb, const struct option_row *row) {
  for (row = row != NULL ? row + 1 : rows; row < rows + ROW_COUNT; ++row) {
    if (verb == VERB_COUNT || option_is_of(row, verb)) return row;
  }
  return NULL;
}

static bool is_word(const char *word, const char *name, size_t length) {
  return word != NULL && strlen(word) == length && strncmp(word, name, length) == 0;
}

const struct option_row *options_table_find(enum verb verb, const char *name, size_t length) {
  EACH_OPTION(row, verb) {
    if (is_word(row->name, name, length) || is_word(row->letter, name, length)) return row;
  }
  return NULL;
}

/* The member at row->offset. It drops const, so that one function serves readers and writers of the options. */
static void *member(const struct option_row *row, const struct options *options) {
  return (char *)(uintptr_t)options + row->offset;
}

const char **options_table_text(const struct option_row *row, const struct options *options) {
  return member(row, options); /* the first member of a number is its text */
}

struct options_list *options_table_list(const struct option_row *row, const struct options *options) {
  return member(row, options);
}

const char *const *options_table_values(const struct option_row *row, const struct options *options, size_t *count) {
  *count = row->kind == OPTION_LIST ? options_table_list(row, options)->count : 1;
  return row->kind == OPTION_LIST ? options_table_list(row, options)->item : options_table_text(row, options);
}

bool options_table_is_given(const struct option_row *row, const struct options *options) {
  if (row->kind == OPTION_FLAG) return *(const bool *)member(row, options);
  if (row->kind == OPTION_LIST) return options_table_list(row, options)->count > 0;
  return *options_table_text(row, options) != NULL;
}

bool options_table_is_joined(const struct option_row *row) {
  return row->kind == OPTION_COUNT || row->kind == OPTION_WORD;
}

void options_table_range(const struct option_row *row, char out[OPTION_RANGE_MAX]) {
  if (row->most >= 18446744073709551615.0) {
    snprintf(out, OPTION_RANGE_MAX, "%.15g to 2^64-1", row->least);
  } else {
    snprintf(out, OPTION_RANGE_MAX, "%.15g to %.15g", row->least, row->most);
  }
}
