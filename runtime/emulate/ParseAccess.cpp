// Mnemonics of memory instructions: gfx9 says global_load_dwordx2, gfx11 global_load_b64; both become an Access.
#include "runtime/emulate/Decoder.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSwitch.h"

using namespace sectile::emulate;
using llvm::StringRef;
using Atomic = Access::Atomic;

/// The size of "dwordx2", "b64", "u8", …; 0: none.
static unsigned sizeOf(StringRef word) {
  return llvm::StringSwitch<unsigned>(word)
      .Cases({"ubyte", "sbyte", "byte", "b8", "u8", "i8"}, 1)
      .Cases({"ushort", "sshort", "short", "b16", "u16", "i16"}, 2)
      .Cases({"dword", "b32", "u32", "i32", "f32"}, 4)
      .Cases({"dwordx2", "b64", "u64", "i64", "f64", "x2"}, 8)
      .Cases({"dwordx3", "b96"}, 12)
      .Cases({"dwordx4", "b128"}, 16)
      .Cases({"dwordx8", "b256"}, 32)
      .Cases({"dwordx16", "b512"}, 64)
      .Default(0);
}

static bool parseLoadOrStore(llvm::ArrayRef<StringRef> words, Access &access) {
  unsigned bytes = 0;
  for (StringRef word : words) {
    if (word == "d16")
      access.half = true;
    else if (word == "hi")
      access.high = true;
    else if (word == "lds")
      access.toLds = true;
    else if (const unsigned size = sizeOf(word); size && !bytes)
      bytes = size, access.signExtend = word == "sbyte" || word == "sshort" || word == "i8" || word == "i16";
    else
      return false;
  }
  access.bytes = uint8_t(bytes);
  return bytes != 0;
}

static bool parseAtomic(StringRef name, Access &access) {
  access.kind = Access::Kind::atomic;
  llvm::SmallVector<StringRef, 4> words;
  name.split(words, '_');
  std::string op;
  access.bytes = 4;
  for (StringRef word : words) {
    if (word == "rtn")
      access.returns = true;
    else if (word == "f16" || word == "bf16")
      op += word;
    else if (const unsigned size = sizeOf(word); size)
      access.bytes = uint8_t(size), op += word.starts_with("f") ? "f" : word.starts_with("i") ? "i" : "";
    else
      op += word == "num" ? "" : word.str();
  }
  const int kind = llvm::StringSwitch<int>(op)
                       .Case("add", int(Atomic::add))
                       .Case("sub", int(Atomic::sub))
                       .Case("rsub", int(Atomic::rsub))
                       .Case("inc", int(Atomic::inc))
                       .Case("dec", int(Atomic::dec))
                       .Cases({"smin", "mini"}, int(Atomic::minSigned))
                       .Cases({"umin", "min"}, int(Atomic::minUnsigned))
                       .Cases({"smax", "maxi"}, int(Atomic::maxSigned))
                       .Cases({"umax", "max"}, int(Atomic::maxUnsigned))
                       .Case("and", int(Atomic::bitAnd))
                       .Case("or", int(Atomic::bitOr))
                       .Case("xor", int(Atomic::bitXor))
                       .Cases({"swap", "wrxchg", "storexchg"}, int(Atomic::swap))
                       .Cases({"cmpswap", "cmpst", "cmpstore"}, int(Atomic::compareSwap))
                       .Case("pkaddf16", int(Atomic::addPackedHalf))
                       .Case("pkaddbf16", int(Atomic::addPackedBfloat))
                       .Case("addf", int(Atomic::addFloat))
                       .Case("minf", int(Atomic::minFloat))
                       .Case("maxf", int(Atomic::maxFloat))
                       .Default(-1);
  access.atomic = Atomic(kind < 0 ? 0 : kind);
  return kind >= 0;
}

bool sectile::emulate::parseAccess(StringRef name, Access &access) {
  using Space = Access::Space;
  auto in = [&](StringRef prefix, Space space) {
    if (!name.consume_front(prefix))
      return false;
    access.space = space;
    return true;
  };
  if (!(in("ds_", Space::lds) || in("global_", Space::global) || in("flat_", Space::flat) ||
        in("scratch_", Space::scratch) || in("buffer_", Space::buffer) || in("s_buffer_", Space::scalar) ||
        (name.starts_with("s_load_") && in("s_", Space::scalar))))
    return false;
  const bool lds = access.space == Space::lds;
  if (lds && (name.consume_front("read2") || name.consume_front("load_2addr"))) {
    access.kind = Access::Kind::load, access.pair = true;
  } else if (lds && (name.consume_front("write2") || name.consume_front("store_2addr"))) {
    access.kind = Access::Kind::store, access.pair = true;
  } else if (name.consume_front("load_") || (lds && name.consume_front("read_"))) {
    access.kind = Access::Kind::load;
    name.consume_front("lds_"); // global_load_lds_dword
  } else if (name.consume_front("store_") || (lds && name.consume_front("write_"))) {
    access.kind = Access::Kind::store;
  } else if (name.consume_front("atomic_") || lds) {
    return parseAtomic(name, access);
  } else {
    return false;
  }
  if (access.pair) {
    if (name.consume_front("st64") || name.consume_front("_stride64"))
      access.stride = 64;
    name.consume_front("_");
  }
  llvm::SmallVector<StringRef, 4> words;
  name.split(words, '_');
  return parseLoadOrStore(words, access);
}
