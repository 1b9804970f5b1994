// sectile attention: runs attention on files or random tensors, checks it and times it.

#include "Command.h"
#include "Output.h"
#include "Problem.h"
#include "Residence.h"

#include "kernels/reference/Attention.h"
#include "sectile/Error.h"

#include <algorithm>
#include <chrono>

using namespace sectile;
using namespace sectile::cli;

namespace {

struct AttentionCommand {
  ProblemArguments arguments;
  std::string out, lse;
  bool verify = false, bench = false;
  int repeat = 20;
  CLI::App *app = nullptr;

  Outcome run(Output &output) const;
};

double milliseconds(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

/// "compiled in 182.1 ms", "cached on disk, loaded in 0.9 ms" …, and the same as JSON.
struct Provenance {
  const char *source;
  double ms;

  Provenance(const CacheCounters &counters, double ms)
      : source(counters.compilations ? "compiled"
               : counters.diskHits   ? "disk"
                                     : "memory"),
        ms(ms) {}
  std::string text() const {
    if (source == std::string("compiled"))
      return format("compiled in %.1f ms", ms);
    return format("cached (%s), loaded in %.1f ms, nothing compiled", source, ms);
  }
};

/// The times of `repeat` runs, in microseconds, sorted.
std::vector<double> timeRuns(int repeat, Residence &residence, const std::function<void()> &run) {
  const Progress progress("running");
  std::vector<double> times;
  for (int i = 0; i < repeat; ++i)
    times.push_back(residence.time(run));
  std::ranges::sort(times);
  return times;
}

Outcome AttentionCommand::run(Output &output) const {
  if (app->count("--repeat") && !bench)
    throw UserError("--repeat says how often --bench runs, and --bench is not given");
  ProblemArguments::Problem problem = arguments.make();
  const Schedule asked = arguments.schedule();
  Session session(arguments.sessionOptions());
  const ArrayView q = problem.q.view(), k = problem.k.view(), v = problem.v.view(), o = problem.out.view();
  const std::optional<ArrayView> l = problem.lse.view();

  // 1. Compile, or find it compiled.
  const auto begin = std::chrono::steady_clock::now();
  std::shared_ptr<const Executable> executable;
  {
    const Progress progress("compiling");
    executable = prepareAttentionForward(session, q, k, v, o, l, problem.options, asked);
  }
  const Provenance provenance(session.counters(), milliseconds(begin));
  const std::string schedule = toString(executable->schedule());
  llvm::json::Object result{{"target", executable->target()},
                            {"schedule", schedule},
                            {"key", executable->key()},
                            {"source", provenance.source},
                            {"compile_ms", provenance.ms}};
  std::string text =
      format("target    %s\nschedule  %s\nkernel    %s %s\n          %s\n", shortTarget(executable->target()).c_str(),
             schedule.c_str(), executable->name().c_str(), executable->key().c_str(), provenance.text().c_str());

  // 2. Run, where the target can reach the tensors.
  const std::unique_ptr<Residence> residence = Residence::of(session);
  AttentionOptions there = problem.options;
  for (std::optional<ArrayView> *operand : {&there.alibiSlopes, &there.bias, &there.sink, &there.keyLengths,
                                            &there.queryScale, &there.keyScale, &there.valueScale})
    *operand = residence->moved(*operand);
  const ArrayView qThere = residence->moved(q), kThere = residence->moved(k), vThere = residence->moved(v),
                  oThere = residence->moved(o);
  const std::optional<ArrayView> lThere = residence->moved(l);
  const std::vector<double> times = timeRuns(bench ? repeat : 1, *residence, [&] {
    attentionForward(session, residence->stream(), qThere, kThere, vThere, oThere, lThere, there, asked);
  });
  residence->fetch(o);
  residence->fetch(*l);
  const double median = times[times.size() / 2];
  const double gigaflops = problem.operations() / median * 1e-3;
  result["median_us"] = median;
  result["runs"] = static_cast<int64_t>(times.size());
  result["gflops"] = gigaflops;
  const bool many = gigaflops >= 10000;
  text += format("time      %.1f us (%s), %.1f %s", median,
                 bench ? format("median of %zu, %.1f to %.1f", times.size(), times.front(), times.back()).c_str()
                       : "one run",
                 many ? gigaflops / 1000 : gigaflops, many ? "TFLOP/s" : "GFLOP/s");

  // 3. Check.
  bool passes = true;
  if (verify) {
    const Progress progress("checking against fp64");
    const reference::AttentionResult exact = reference::attention(q, k, v, problem.options);
    const reference::AttentionResult naive = reference::naiveAttention(q, k, v, problem.options);
    const reference::Verdict verdict = reference::judge(o, l, exact, naive);
    passes = verdict.passes();
    result["max_error"] = verdict.error;
    result["naive_error"] = verdict.naiveError;
    result["bound"] = verdict.bound();
    result["lse_error"] = verdict.lseError;
    result["pass"] = passes;
    text += format("\nerror     %.2e against fp64; naive %s: %.2e; allowed: %.2e\nlse error %.2e, allowed: %.2e\n"
                   "verify    %s",
                   verdict.error, std::string(typeName(isStorageOnly(q.type) ? Type::bf16 : q.type)).c_str(),
                   verdict.naiveError, verdict.bound(), verdict.lseError, reference::Verdict::lseBound,
                   passes ? "passed" : ("FAILED: " + verdict.worst).c_str());
  }
  if (!out.empty())
    writeNpy(out, o);
  if (!lse.empty())
    writeNpy(lse, *l);
  output.result(std::move(result), text);
  return passes ? Outcome::ok : Outcome::failed;
}

} // namespace

void sectile::cli::addAttention(CLI::App &program, Action &action) {
  auto command = std::make_shared<AttentionCommand>();
  CLI::App *app = program.add_subcommand("attention", "Run attention forward on .npy files or random tensors.");
  command->app = app;
  command->arguments.addTo(*app, true);
  app->add_option("-o,--output", command->out, "write out (batch, seqlen, heads, headdim-v) here")->type_name("FILE");
  app->add_option("--lse", command->lse, "write lse (batch, heads, seqlen) here")->type_name("FILE");
  app->add_flag("--verify", command->verify,
                "compare with an fp64 computation; exit 1 unless the error is at most twice that of the naive "
                "computation in the same type");
  app->add_flag("--bench", command->bench, "run several times and print the median");
  app->add_option("--repeat", command->repeat, "runs of --bench")->check(CLI::PositiveNumber)->capture_default_str();
  app->callback([command, &action] { action = [command](Output &output) { return command->run(output); }; });
}
