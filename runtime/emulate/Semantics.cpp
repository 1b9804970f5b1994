#include "runtime/emulate/Semantics.h"
#include "runtime/emulate/Decoder.h"

using namespace sectile::emulate;

static const SemanticsTable &table() {
  static const SemanticsTable all = [] {
    SemanticsTable t;
    for (auto add : {addScalarArithmetic, addScalarControl, addVectorFloat, addVectorInteger, addConversions,
                     addComparisons, addPacked, addCrossLane, addLdsLanes})
      add(t);
    return t;
  }();
  return all;
}

Semantics sectile::emulate::findSemantics(WaveInstruction &inst, Generation generation) {
  const llvm::StringRef name = inst.mnemonic;
  if (auto known = table().find(name); known != table().end())
    return known->second;
  if (name.starts_with("v_mfma_") || name.starts_with("v_wmma_") || name.starts_with("v_smfmac_"))
    return findMatrix(inst, generation);
  if (!parseAccess(name, inst.access))
    return nullptr;
  return inst.access.space == Access::Space::lds ? findLds(inst) : findMemory(inst);
}
