#include "Problem.h"

#include "kernels/reference/Numbers.h"
#include "sectile/Error.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

using namespace sectile;
using namespace sectile::cli;

static const std::map<std::string, Type> dataTypes = {
    {"f32", Type::f32}, {"f16", Type::f16}, {"bf16", Type::bf16}, {"f8e4m3", Type::f8e4m3}, {"f8e5m2", Type::f8e5m2}};
static const std::vector<std::string> dataTypeNames = {"f32", "f16", "bf16", "f8e4m3", "f8e5m2"};
static const std::vector<std::string> alignmentNames = {"bottom-right", "top-left"};

void ProblemArguments::addTo(CLI::App &app, bool withFiles) {
  command = &app;
  if (withFiles)
    app.add_option("files", files,
                   "q.npy k.npy v.npy: f32, f16 or bf16 of shape (batch, seqlen, heads, headdim); "
                   "without them, random tensors of the shape below")
        ->type_name("FILE");

  const std::string shape = "Shape";
  app.add_option("--batch", batch, "sequences")->capture_default_str()->group(shape);
  app.add_option("--heads", heads, "query heads")->capture_default_str()->group(shape);
  app.add_option("--kv-heads", kvHeads, "key and value heads, a divisor of --heads [as --heads]")->group(shape);
  app.add_option("--seqlen", seqlen, "queries a sequence")->capture_default_str()->group(shape);
  app.add_option("--seqlen-kv", seqlenKv, "keys a sequence [as --seqlen]")->group(shape);
  app.add_option("--headdim", headDim, "of q and k, 1 to 576")->capture_default_str()->group(shape);
  app.add_option("--headdim-v", headDimV, "of v and out [as --headdim]")->group(shape);
  app.add_option("--seed", seed, "of the random tensors")->capture_default_str()->group(shape);
  app.add_option("--dtype", dtype, "element type of q, k and v [of the files, else f32]; files are converted")
      ->check(CLI::IsMember(dataTypeNames))
      ->group(shape);
  app.add_option("--out-dtype", outDtype, "element type of out [as q, k and v; bf16 when they are of f8]")
      ->check(CLI::IsMember(dataTypeNames))
      ->group(shape);

  const std::string scores = "Scores and masks";
  app.add_option("--scale", scale, "of the scores [headdim^-0.5]")->group(scores);
  app.add_option("--query-scale", tensorScales[0], "what the numbers of a q of f8 are multiplied by [1]")
      ->group(scores);
  app.add_option("--key-scale", tensorScales[1], "the same of k")->group(scores);
  app.add_option("--value-scale", tensorScales[2], "the same of v")->group(scores);
  app.add_flag("--causal{bottom-right}", causal,
               "no key after the query; =bottom-right (default) or =top-left says "
               "which corner of the scores the diagonal meets")
      ->type_name("")
      ->check(CLI::IsMember(alignmentNames))
      ->group(scores);
  app.add_option("--window", window, "keys visible left and right of the diagonal, inclusive; -1: all")
      ->delimiter(',')
      ->expected(2)
      ->type_name("L,R")
      ->group(scores);
  app.add_option("--alignment", alignment, "of --window: bottom-right (default) or top-left")
      ->check(CLI::IsMember(alignmentNames))
      ->group(scores);
  app.add_option("--softcap", softcap, "caps scores s to C tanh(s/C); 0: none")->type_name("C")->group(scores);
  app.add_flag("--alibi{standard}", alibi, "slopes: =standard (default), 2^(-8 h/heads) for h = 1 …, or =FILE")
      ->group(scores);
  app.add_option("--bias", bias, "added to the scores: 'random' or a file (batch, heads, seqlen, seqlen-kv)")
      ->type_name("FILE")
      ->group(scores);
  app.add_option("--sink", sink, "a score without a value in each head: 'random' or a file (heads), f32")
      ->type_name("FILE")
      ->group(scores);
  app.add_option("--key-lengths", keyLengths, "visible keys of each sequence, one number a sequence or one for all")
      ->delimiter(',')
      ->type_name("N,…")
      ->group(scores);
  app.add_option("--dropout", dropout, "probability that a weight is dropped, 0 <= P < 1")
      ->type_name("P")
      ->group(scores);
  app.add_option("--dropout-seed", dropoutSeed, "of the Philox stream")->capture_default_str()->group(scores);
  app.add_option("--dropout-offset", dropoutOffset, "into the Philox stream")->capture_default_str()->group(scores);

  const std::string compilation = "Compilation";
  app.add_option("--target", target,
                 "cpu, interpret, cuda, cuda:<n>, nvptx:<architecture>, or for compiling only "
                 "cpu:<processor> [SECTILE_TARGET]")
      ->group(compilation);
  app.add_option("--schedule", scheduleText, "such as blockM=64,blockN=128 [chosen by the target]")->group(compilation);
  app.add_option("--toolkit", toolkit,
                 "a CUDA toolkit's folder, to look for assemblers first; none: leave PTX to the driver")
      ->type_name("DIR")
      ->group(compilation);
  app.add_option("--threads", threads, "host threads [all]")->check(CLI::PositiveNumber)->group(compilation);
}

Options ProblemArguments::sessionOptions() const {
  Options options = Options::fromEnvironment();
  if (!target.empty())
    options.target = target;
  options.toolkit = toolkit;
  if (threads)
    options.threads = *threads;
  return options;
}

Schedule ProblemArguments::schedule() const { return parseSchedule(scheduleText); }

Tensor Tensor::zeros(Type type, std::vector<int64_t> sizes) {
  int64_t bytes = typeBytes(type);
  for (const int64_t size : sizes) {
    if (size < 0 || size > ArrayView::maxSize)
      throw UserError("a size of " + std::to_string(size) + ": sizes are from 0 to " +
                      std::to_string(ArrayView::maxSize));
    if (__builtin_mul_overflow(bytes, size, &bytes))
      throw UserError("the shape takes more than 2^63 bytes");
  }
  Tensor tensor;
  tensor.storage.header = {type, false, std::move(sizes), 0, bytes};
  try {
    tensor.storage.lines.resize(static_cast<size_t>(bytes + 63) / 64);
  } catch (const std::exception &) { // bad_alloc, length_error
    throw DeviceError("no memory for a tensor of " + std::to_string(bytes) + " bytes");
  }
  return tensor;
}

/// Standard normal numbers from `seed`; `stream` keeps the tensors of one problem apart.
Tensor ProblemArguments::filled(Type type, std::vector<int64_t> sizes, uint64_t stream) const {
  Tensor tensor = Tensor::zeros(type, std::move(sizes));
  std::mt19937_64 generator(seed * 16 + stream);
  std::normal_distribution<float> normal;
  std::byte *element = tensor.storage.bytes().data();
  for (const std::byte *end = element + tensor.storage.header.dataBytes; element != end; element += typeBytes(type))
    reference::storeElement(type, element, normal(generator));
  return tensor;
}

/// The tensor of an option that takes 'random' or a file.
Tensor ProblemArguments::input(const std::string &file, const char *option, Type type, std::vector<int64_t> sizes,
                               uint64_t stream) const {
  if (file == "random")
    return filled(type, std::move(sizes), stream);
  Tensor tensor{readNpy(file)};
  if (tensor.storage.header.sizes.empty())
    throw UserError(std::string(option) + ": " + file + " holds a single number, not an array");
  return tensor;
}

static Tensor converted(Tensor from, Type type) {
  if (from.storage.header.type == type)
    return from;
  Tensor to{from.storage};
  to.storage.header.type = type;
  const int64_t elements = from.view().elements();
  to.storage.header.dataBytes = elements * typeBytes(type);
  to.storage.lines.assign(static_cast<size_t>(to.storage.header.dataBytes + 63) / 64, {});
  for (int64_t i = 0; i < elements; ++i)
    reference::storeElement(
        type, to.storage.bytes().data() + i * typeBytes(type),
        reference::loadElement(from.storage.header.type,
                               from.storage.bytes().data() + i * typeBytes(from.storage.header.type)));
  return to;
}

void ProblemArguments::readFiles(Problem &problem) const {
  for (const char *option : {"--batch", "--heads", "--kv-heads", "--seqlen", "--seqlen-kv", "--headdim", "--headdim-v"})
    if (command->count(option))
      throw UserError(std::string(option) + " describes random tensors, the shapes here come from the files");
  if (files.size() != 3)
    throw UserError("expected no file or three: q.npy k.npy v.npy, got " + std::to_string(files.size()));
  Tensor *tensors[] = {&problem.q, &problem.k, &problem.v};
  for (size_t i = 0; i < 3; ++i) {
    Tensor tensor{readNpy(files[i])};
    const NpyHeader &header = tensor.storage.header;
    if (header.sizes.size() != 4)
      throw UserError(files[i] + ": has " + std::to_string(header.sizes.size()) +
                      " dimensions, needs 4: (batch, seqlen, heads, headdim)");
    if (header.type == Type::i32 || header.type == Type::i1)
      throw UserError(files[i] + ": holds " + std::string(typeName(header.type)) + "; legal: f32, f16, bf16");
    *tensors[i] = dtype.empty() ? std::move(tensor) : converted(std::move(tensor), dataTypes.at(dtype));
  }
}

void ProblemArguments::makeRandom(Problem &problem) const {
  const Type type = dtype.empty() ? Type::f32 : dataTypes.at(dtype);
  const int64_t kvHeadCount = command->count("--kv-heads") ? kvHeads : heads;
  const int64_t keys = command->count("--seqlen-kv") ? seqlenKv : seqlen;
  problem.q = filled(type, {batch, seqlen, heads, headDim}, 0);
  problem.k = filled(type, {batch, keys, kvHeadCount, headDim}, 1);
  problem.v = filled(type, {batch, keys, kvHeadCount, command->count("--headdim-v") ? headDimV : headDim}, 2);
}

void ProblemArguments::setMask(Problem &problem) const {
  AttentionOptions &options = problem.options;
  options.scale = scale;
  options.softcap = softcap;
  options.causal = !causal.empty();
  if (!window.empty()) {
    options.windowLeft = window[0];
    options.windowRight = window[1];
  }
  if (!causal.empty() && !alignment.empty() && causal != alignment)
    throw UserError("--causal=" + causal + " and --alignment " + alignment + " contradict each other");
  if (!alignment.empty() && causal.empty() && window.empty())
    throw UserError("--alignment says where --window or --causal begins, and neither is given");
  options.alignment =
      causal == "top-left" || alignment == "top-left" ? MaskAlignment::topLeft : MaskAlignment::bottomRight;
  options.dropout = dropout;
  options.seed = dropoutSeed;
  options.offset = dropoutOffset;
  for (const char *option : {"--dropout-seed", "--dropout-offset"})
    if (command->count(option) && !command->count("--dropout"))
      throw UserError(std::string(option) + " needs --dropout");
}

void ProblemArguments::addOperands(Problem &problem) const {
  AttentionOptions &options = problem.options;
  const int64_t sequences = problem.size(problem.q, 0), queryHeads = problem.size(problem.q, 2);
  if (alibi == "standard") {
    problem.alibi = Tensor::zeros(Type::f32, {queryHeads});
    for (int64_t h = 0; h < queryHeads; ++h)
      reference::storeElement(Type::f32, problem.alibi.storage.bytes().data() + h * 4,
                              std::exp2(-8.0 * static_cast<double>(h + 1) / static_cast<double>(queryHeads)));
  } else if (!alibi.empty()) {
    problem.alibi = input(alibi, "--alibi", Type::f32, {}, 0);
  }
  if (!bias.empty())
    problem.bias = input(bias, "--bias", Type::f32,
                         {sequences, queryHeads, problem.size(problem.q, 1), problem.size(problem.k, 1)}, 3);
  if (!sink.empty())
    problem.sink = input(sink, "--sink", Type::f32, {queryHeads}, 4);
  if (!keyLengths.empty()) {
    if (keyLengths.size() != 1 && static_cast<int64_t>(keyLengths.size()) != sequences)
      throw UserError("--key-lengths has " + std::to_string(keyLengths.size()) + " numbers for " +
                      std::to_string(sequences) + " sequences; legal: one for all, or one each");
    problem.keyLengths = Tensor::zeros(Type::i32, {sequences});
    for (int64_t b = 0; b < sequences; ++b) {
      const int64_t length = keyLengths[keyLengths.size() == 1 ? 0 : static_cast<size_t>(b)];
      if (length < 0 || length > problem.size(problem.k, 1))
        throw UserError("--key-lengths has " + std::to_string(length) + "; legal: 0 to the number of keys, " +
                        std::to_string(problem.size(problem.k, 1)));
      reference::storeElement(Type::i32, problem.keyLengths.storage.bytes().data() + b * 4,
                              static_cast<double>(length));
    }
  }
  for (size_t i = 0; i < std::size(tensorScales); ++i)
    if (tensorScales[i]) {
      problem.scales[i] = Tensor::zeros(Type::f32, {1});
      reference::storeElement(Type::f32, problem.scales[i].storage.bytes().data(), *tensorScales[i]);
    }
  const auto attach = [](Tensor &tensor, std::optional<ArrayView> &option) {
    if (tensor)
      option = tensor.view();
  };
  attach(problem.alibi, options.alibiSlopes);
  attach(problem.bias, options.bias);
  attach(problem.sink, options.sink);
  attach(problem.keyLengths, options.keyLengths);
  attach(problem.scales[0], options.queryScale);
  attach(problem.scales[1], options.keyScale);
  attach(problem.scales[2], options.valueScale);
}

ProblemArguments::Problem ProblemArguments::make() const {
  Problem problem;
  if (files.empty())
    makeRandom(problem);
  else
    readFiles(problem);
  setMask(problem);
  addOperands(problem);
  const auto size = [&](const Tensor &tensor, size_t axis) { return problem.size(tensor, axis); };
  const Type type = problem.q.storage.header.type;
  const Type outType = !outDtype.empty() ? dataTypes.at(outDtype) : isStorageOnly(type) ? Type::bf16 : type;
  problem.out =
      Tensor::zeros(outType, {size(problem.q, 0), size(problem.q, 1), size(problem.q, 2), size(problem.v, 3)});
  problem.lse = Tensor::zeros(Type::f32, {size(problem.q, 0), size(problem.q, 2), size(problem.q, 1)});
  return problem;
}

double ProblemArguments::Problem::operations() const {
  const int64_t queries = size(q, 1), keys = size(k, 1);
  const int64_t diagonal = options.alignment == MaskAlignment::bottomRight ? keys - queries : 0;
  const int64_t right = options.causal ? 0 : options.windowRight;
  double pairs = 0;
  for (int64_t b = 0; b < size(q, 0); ++b) {
    const int64_t visible =
        options.keyLengths ? static_cast<int64_t>(reference::element(*options.keyLengths, b)) : keys;
    for (int64_t i = 0; i < queries; ++i) {
      const int64_t begin = options.windowLeft < 0 ? 0 : std::max<int64_t>(0, i + diagonal - options.windowLeft);
      const int64_t end = right < 0 ? visible : std::min(visible, i + diagonal + right + 1);
      pairs += static_cast<double>(std::max<int64_t>(0, end - begin));
    }
  }
  return 2 * pairs * static_cast<double>(size(q, 2)) * static_cast<double>(size(q, 3) + size(v, 3));
}
