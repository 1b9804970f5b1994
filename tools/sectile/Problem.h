// One attention problem as the command line describes it: options in, tensors and AttentionOptions out.
#pragma once

#include "runtime/Npy.h"
#include "sectile/Attention.h"

#include <CLI/CLI.hpp>

#include <optional>
#include <string>
#include <vector>

namespace sectile::cli {

/// A tensor that owns its elements: from a file, or filled here.
struct Tensor {
  NpyArray storage;
  ArrayView view() { return storage.view(); }
  explicit operator bool() const { return !storage.header.sizes.empty(); }

  static Tensor zeros(Type type, std::vector<int64_t> sizes);
};

/// What `attention` and `compile` have in common. Names, defaults and help of the options are in Problem.cpp.
class ProblemArguments {
public:
  /// `--batch` … `--sink`, `--target`, `--schedule`. With `files`: q.npy k.npy v.npy and `--dtype` as a conversion.
  void addTo(CLI::App &command, bool files);

  struct Problem {
    Tensor q, k, v, out, lse;
    Tensor alibi, bias, sink, keyLengths; ///< empty where not asked for
    Tensor scales[3];                     ///< of q, k and v
    AttentionOptions options;             ///< points into the tensors above

    int64_t size(const Tensor &tensor, size_t axis) const { return tensor.storage.header.sizes[axis]; }
    /// Floating-point operations: two a multiply-add, over the pairs of query and key that the mask lets see each
    /// other.
    double operations() const;
  };
  /// Reads or makes the tensors. Throws UserError naming the option or file.
  Problem make() const;

  /// The environment's options with --target and --threads applied.
  Options sessionOptions() const;
  Schedule schedule() const;

private:
  Tensor filled(Type type, std::vector<int64_t> sizes, uint64_t stream) const;
  Tensor input(const std::string &file, const char *option, Type type, std::vector<int64_t> sizes,
               uint64_t stream) const;
  void readFiles(Problem &problem) const;
  void makeRandom(Problem &problem) const;
  void setMask(Problem &problem) const;
  void addOperands(Problem &problem) const;

  CLI::App *command = nullptr;
  std::vector<std::string> files;
  std::string dtype, outDtype;
  int64_t batch = 1, heads = 8, kvHeads = 0, seqlen = 1024, seqlenKv = -1, headDim = 64, headDimV = 0;
  uint64_t seed = 0;
  std::optional<float> scale, tensorScales[3];
  std::string causal, alignment, alibi, bias, sink;
  std::vector<int64_t> window, keyLengths;
  float softcap = 0, dropout = 0;
  uint64_t dropoutSeed = 0, dropoutOffset = 0;
  std::string target, toolkit, scheduleText;
  std::optional<int> threads;
};

} // namespace sectile::cli
