#include "tests/emulate/Products.h"

#include "sectile/Error.h"

using namespace sectile;
using namespace sectile::warps;

namespace {

// A register that stands for a result is a signalling NaN, which no arithmetic gives: the product's number modulo what
// there is room for, and the register's.
constexpr uint32_t tag = 0x7f800000, registerBits = 7, numbers = 1u << 15;

uint32_t taggedRegister(size_t product, int reg) {
  return tag | static_cast<uint32_t>(product % (numbers - 1) + 1) << registerBits | static_cast<uint32_t>(reg);
}
bool isTagged(uint32_t bits) { return (bits & 0xffc00000) == tag && bits != tag; }
int registerOf(uint32_t bits) { return static_cast<int>(bits & ((1u << registerBits) - 1)); }

/// So many results can still be asked for. More than a kernel has at a time.
constexpr size_t remembered = 128;

} // namespace

std::optional<size_t> Products::find(uint32_t bits) const {
  const size_t number = (bits & ~0xffc00000u) >> registerBits, count = numbers - 1;
  if (!isTagged(bits) || number == 0)
    return std::nullopt;
  const size_t index = (number - 1 + count - forgotten % count) % count;
  return index < products.size() ? std::optional(index) : std::nullopt;
}

uint32_t Products::resolve(uint32_t bits, int thread) const {
  if (!isTagged(bits))
    return bits;
  const std::optional<size_t> index = find(bits);
  if (!index)
    throw InternalError("the result of a product that was complete long ago, or of none, is used");
  const Product &product = products[*index];
  const std::string what = "register " + std::to_string(registerOf(bits)) + " of " + product.instruction->name;
  if (product.state == State::inFlight)
    throw InternalError(what + " is used before wgmma.wait_group says that it is complete");
  if (product.state == State::takenOver)
    throw InternalError(what + " is used, but a later product has taken it over as accumulator");
  const int reg = registerOf(bits), n = product.instruction->n;
  return std::bit_cast<uint32_t>(product.result[accumulatorRow(thread, reg) * n + accumulatorColumn(thread, reg)]);
}

Matrix Products::takeAccumulator(const Wgmma &instruction, const WgmmaArguments *const (&arguments)[warpGroupSize]) {
  Matrix d(static_cast<size_t>(64) * instruction.n);
  if (!arguments[0]->addsAccumulator)
    return d;
  // 1. All of a result in flight: the product behind it goes on where that one ended.
  const std::optional<size_t> before = find(arguments[0]->accumulator[0]);
  if (before && products[*before].state == State::inFlight) {
    Product &taken = products[*before];
    const size_t number = forgotten + *before;
    for (int thread = 0; thread < warpGroupSize; ++thread)
      for (int i = 0; i < instruction.accumulators(); ++i)
        if (arguments[thread]->accumulator[i] != taggedRegister(number, i))
          throw InternalError("the accumulator of " + instruction.name + " is not as a whole that of " +
                              taken.instruction->name + ", which is in flight");
    if (taken.instruction->n != instruction.n)
      throw InternalError("the accumulator of " + instruction.name +
                          " is in flight and has another shape: " + taken.instruction->name);
    taken.state = State::takenOver;
    return std::move(taken.result);
  }
  // 2. Numbers.
  for (int thread = 0; thread < warpGroupSize; ++thread)
    for (int i = 0; i < instruction.accumulators(); ++i)
      d[accumulatorRow(thread, i) * instruction.n + accumulatorColumn(thread, i)] =
          std::bit_cast<float>(resolve(arguments[thread]->accumulator[i], thread));
  return d;
}

void Products::issue(const Wgmma &instruction, const WgmmaArguments *const (&arguments)[warpGroupSize],
                     uint32_t *const (&results)[warpGroupSize]) {
  const WgmmaArguments &all = *arguments[0];
  for (const WgmmaArguments *own : arguments)
    if (own->descriptorB != all.descriptorB || own->addsAccumulator != all.addsAccumulator ||
        (!instruction.aInRegisters && own->descriptorA != all.descriptorA))
      throw InternalError("the threads of a warp group have different descriptors or predicates at " +
                          instruction.name);
  if (!fenced)
    throw InternalError("there is no wgmma.fence before the first " + instruction.name + " of a group");
  Product product;
  product.instruction = &instruction;
  const auto operand = [&](uint64_t descriptor, Element type, bool transposed, int size) {
    product.reads.emplace_back(descriptor, type, transposed, size, instruction.k, shared, sharedBytes);
  };
  operand(all.descriptorB, instruction.b, instruction.transposeB, instruction.n);
  Matrix a;
  if (instruction.aInRegisters) {
    const uint32_t *words[warpGroupSize];
    for (int thread = 0; thread < warpGroupSize; ++thread)
      words[thread] = arguments[thread]->registersA;
    a = matrixA(instruction, words);
  } else {
    operand(all.descriptorA, instruction.a, instruction.transposeA, 64);
    a = matrixA(product.reads[1], instruction.k);
  }
  product.result = takeAccumulator(instruction, arguments);
  multiplyAdd(instruction, a, product.reads[0], product.result);
  for (int thread = 0; thread < warpGroupSize; ++thread)
    for (int i = 0; i < instruction.accumulators(); ++i)
      results[thread][i] = taggedRegister(forgotten + products.size(), i);
  products.push_back(std::move(product));
  forgetOld();
}

void Products::commit() {
  firstUncommitted = forgotten + products.size();
  groups.push_back(firstUncommitted);
  fenced = false;
}

void Products::complete(size_t pendingGroups) {
  size_t end = 0;
  for (; groups.size() > pendingGroups; groups.pop_front())
    end = groups.front();
  for (size_t i = 0; forgotten + i < end; ++i) {
    Product &product = products[i];
    for (const SharedOperand &operand : product.reads)
      if (const std::optional<uint32_t> address = operand.changed())
        throw InternalError("shared address " + std::to_string(*address) + ", which " + product.instruction->name +
                            " reads, was written before wgmma.wait_group says that the product is complete");
    product.reads.clear();
    if (product.state == State::inFlight)
      product.state = State::complete;
  }
}

std::optional<std::string> Products::inFlight() const {
  for (const Product &product : products)
    if (product.state == State::inFlight)
      return product.instruction->name;
  return std::nullopt;
}

void Products::forgetOld() {
  while (products.size() > remembered && products.front().state != State::inFlight && products.front().reads.empty()) {
    products.pop_front();
    ++forgotten;
  }
}
