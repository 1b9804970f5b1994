// What an attention call is about, and the rules that its arguments must keep.
#pragma once

#include "sectile/Attention.h"

namespace sectile::attention {

/// The arguments of a call, as they came.
struct ForwardArrays {
  const ArrayView &q, &k, &v, &out;
  const ArrayView *lse; ///< null: not wanted
};

/// The sizes of a checked call.
struct ForwardProblem {
  Type type;    ///< of q, k and v
  Type outType; ///< the same unless that is f8
  int64_t batch, headsQ, headsKv, seqlenQ, seqlenK, headDim, headDimV;
  bool hasKeyLengths = false, hasAlibi = false;

  bool empty() const { return batch == 0 || headsQ == 0 || seqlenQ == 0; }
};

/// Whether the arrays' memory will be used now, or only their shapes and strides matter (compiling ahead).
enum class Use { run, compile };

/// Throws UserError naming the array or option, the rule, what was given and what is legal.
ForwardProblem checkForward(const ForwardArrays &arrays, const AttentionOptions &options, Use use);

} // namespace sectile::attention
