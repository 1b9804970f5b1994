#include "tests/emulate/Assembly.h"

#include "sectile/Error.h"

#include <charconv>
#include <cstring>
#include <memory>

using namespace sectile;
using namespace sectile::warps;

namespace {

constexpr size_t maxNames = 8;

/// $i, a name that .reg declares, or a number.
struct Operand {
  enum class Kind { argument, name, number } kind;
  int64_t value; ///< i, which name, the number
  bool operator==(const Operand &) const = default;
};

struct Statement {
  std::optional<Operand> guard; ///< @p, @!p
  bool guardIsNegated = false;
  std::string mnemonic;
  std::vector<Operand> operands; ///< those in braces one after another
  std::optional<Wgmma> wgmma;
};

/// What Execution::run() knows.
bool isKnown(const std::string &mnemonic) {
  for (const char *prefix : {"setp.ne.", "setp.eq.", "selp.", "mov.", "wgmma.mma_async.", "mbarrier.try_wait.parity."})
    if (mnemonic.starts_with(prefix))
      return true;
  return mnemonic == "bar.sync" || mnemonic == "bar.arrive";
}

struct Program {
  std::vector<AsmOperand> arguments;
  std::vector<Statement> statements;
};

//===-- reading --------------------------------------------------------------------------------------------------===//

class Reader {
public:
  Reader(std::string_view text, const std::vector<AsmOperand> &arguments) : rest(text), program{arguments, {}} {}

  Program read() {
    while (skip(" \n\t;{}"), !rest.empty()) // braces here are those of a scope
      readStatement();
    return std::move(program);
  }

private:
  [[noreturn]] void fail(const std::string &what) const {
    throw InternalError("emulation: inline assembly: " + what + " at '" + std::string(rest.substr(0, 60)) + "'");
  }
  void skip(const char *what) { rest.remove_prefix(std::min(rest.find_first_not_of(what), rest.size())); }
  std::string_view word() {
    skip(" \n\t");
    const size_t end = std::min(rest.find_first_of(" \n\t;,{}[]"), rest.size());
    const std::string_view result = rest.substr(0, end);
    rest.remove_prefix(end);
    return result;
  }
  Operand nameOf(std::string_view text) {
    for (size_t i = 0; i < names.size(); ++i)
      if (names[i] == text)
        return {Operand::Kind::name, static_cast<int64_t>(i)};
    fail("'" + std::string(text) + "' is not declared");
  }
  Operand operand() {
    const std::string_view text = word();
    const bool isArgument = text.starts_with("$");
    int64_t value = 0;
    const char *first = text.data() + (isArgument ? 1 : 0), *last = text.data() + text.size();
    const bool isNumber = std::from_chars(first, last, value).ptr == last && first != last;
    if (isArgument && (!isNumber || value >= static_cast<int64_t>(program.arguments.size())))
      fail("there is no operand " + std::string(text));
    if (isNumber)
      return {isArgument ? Operand::Kind::argument : Operand::Kind::number, value};
    if (text.starts_with("0f") && std::from_chars(first + 2, last, value, 16).ptr == last)
      return {Operand::Kind::number, value};
    return nameOf(text);
  }
  void readStatement() {
    Statement statement;
    std::string_view first = word();
    if (first == ".reg") {
      word(); // the type
      do {
        if (names.size() == maxNames)
          fail("more than " + std::to_string(maxNames) + " names");
        names.emplace_back(word());
      } while (more());
      return;
    }
    if (first.starts_with("@")) {
      statement.guardIsNegated = first.starts_with("@!");
      statement.guard = nameOf(first.substr(statement.guardIsNegated ? 2 : 1));
      first = word();
    }
    statement.mnemonic = first;
    if (!isKnown(statement.mnemonic))
      fail("there is no instruction " + statement.mnemonic);
    bool aInRegisters = false;
    for (int lists = 0; skip(" \n\t,"), !rest.empty() && rest.front() != ';';) {
      if (rest.front() == '[') {
        rest.remove_prefix(1);
        statement.operands.push_back(operand());
        skip(" ]");
        continue;
      }
      if (rest.front() != '{') {
        statement.operands.push_back(operand());
        continue;
      }
      aInRegisters = ++lists == 2;
      for (rest.remove_prefix(1); skip(" ,"), !rest.empty() && rest.front() != '}';)
        statement.operands.push_back(operand());
      skip("}");
    }
    if (first.starts_with("wgmma."))
      readWgmma(statement, aInRegisters);
    program.statements.push_back(std::move(statement));
  }
  bool more() {
    skip(" ");
    if (!rest.starts_with(","))
      return false;
    rest.remove_prefix(1);
    return true;
  }
  /// The accumulator, A in one or four operands, B, the predicate, numbers.
  void readWgmma(Statement &statement, bool aInRegisters) {
    std::vector<Operand> &operands = statement.operands;
    std::vector<int64_t> numbers;
    size_t last = operands.size();
    while (last > 0 && operands[last - 1].kind == Operand::Kind::number)
      --last;
    for (size_t i = last; i < operands.size(); ++i)
      numbers.push_back(operands[i].value);
    operands.resize(last);
    statement.wgmma = Wgmma(statement.mnemonic, aInRegisters, numbers);
    const size_t accumulators = statement.wgmma->accumulators(), others = aInRegisters ? 6 : 3;
    if (last != accumulators + others)
      fail(statement.mnemonic + " with " + std::to_string(last) + " operands; it has " +
           std::to_string(accumulators + others));
    for (size_t i = 0; i < accumulators; ++i)
      if (operands[i] != Operand{Operand::Kind::argument, static_cast<int64_t>(i)} ||
          program.arguments[i].out != static_cast<int>(i))
        fail("the accumulator of " + statement.mnemonic + " should be the results, in their order");
  }

  std::string_view rest;
  Program program;
  std::vector<std::string> names;
};

//===-- execution ------------------------------------------------------------------------------------------------===//

/// Of one thread. It may pause in the middle for good: nothing here needs to be freed.
class Execution {
public:
  Execution(const Program &program, Block &block, const uint32_t *in, uint32_t *out)
      : program(program), block(block), in(in), out(out) {}

  void run() {
    for (const AsmOperand &argument : program.arguments)
      if (argument.in >= 0 && argument.out >= 0) // tied: what no statement writes stays
        std::memcpy(out + argument.out, in + argument.in, argument.words * sizeof(uint32_t));
    for (const Statement &statement : program.statements)
      if (!statement.guard || (get(*statement.guard) != 0) != statement.guardIsNegated)
        run(statement);
  }

private:
  uint64_t get(const Operand &operand) const {
    if (operand.kind == Operand::Kind::number)
      return static_cast<uint64_t>(operand.value);
    if (operand.kind == Operand::Kind::name)
      return names[operand.value];
    const AsmOperand &argument = program.arguments[operand.value];
    uint64_t value = 0;
    std::memcpy(&value, argument.out >= 0 ? out + argument.out : in + argument.in, argument.words * sizeof(uint32_t));
    return value;
  }
  void set(const Operand &operand, uint64_t value) {
    if (operand.kind == Operand::Kind::name)
      names[operand.value] = value;
    else
      std::memcpy(out + program.arguments[operand.value].out, &value,
                  program.arguments[operand.value].words * sizeof(uint32_t));
  }
  void run(const Statement &statement) {
    const std::string_view name = statement.mnemonic;
    const std::vector<Operand> &operands = statement.operands;
    const auto word = [&](size_t i) { return static_cast<uint32_t>(get(operands.at(i))); };
    if (statement.wgmma) {
      multiply(*statement.wgmma, operands);
    } else if (name.starts_with("setp.ne.") || name.starts_with("setp.eq.")) {
      set(operands.at(0), (word(1) == word(2)) == name.starts_with("setp.eq."));
    } else if (name.starts_with("selp.")) {
      set(operands.at(0), get(operands.at(3)) != 0 ? get(operands.at(1)) : get(operands.at(2)));
    } else if (name.starts_with("mov.")) {
      set(operands.at(0), get(operands.at(1)));
    } else if (name == "bar.sync" || name == "bar.arrive") {
      block.namedBarrier(word(0), operands.size() > 1 ? word(1) : 0, name == "bar.sync");
    } else {
      block.waitPhase(Block::sharedAddress(get(operands.at(1))), word(2));
      set(operands.at(0), 1);
    }
  }
  void multiply(const Wgmma &instruction, const std::vector<Operand> &operands) {
    WgmmaArguments arguments;
    const size_t accumulators = instruction.accumulators();
    for (size_t i = 0; i < accumulators; ++i)
      arguments.accumulator[i] = static_cast<uint32_t>(get(operands[i]));
    size_t next = accumulators;
    if (instruction.aInRegisters) {
      arguments.descriptorA = 0;
      for (uint32_t &word : arguments.registersA)
        word = static_cast<uint32_t>(get(operands[next++]));
    } else {
      arguments.descriptorA = get(operands[next++]);
    }
    arguments.descriptorB = get(operands[next++]);
    arguments.addsAccumulator = get(operands[next]) != 0;
    block.issueProduct(instruction, arguments, out);
  }

  const Program &program;
  Block &block;
  const uint32_t *in;
  uint32_t *out;
  uint64_t names[maxNames] = {};
};

} // namespace

Instruction warps::readAssembly(const std::string &text, const std::vector<AsmOperand> &operands) {
  auto program = std::make_shared<const Program>(Reader(text, operands).read());
  std::string name = text;
  for (const Statement &statement : program->statements)
    if (statement.wgmma || program->statements.size() == 1)
      name = statement.mnemonic;
  return {name,
          [program](Block &block, const uint32_t *in, uint32_t *out) { Execution(*program, block, in, out).run(); }};
}
