#include "runtime/LiteralVariants.h"

#include "compiler/support/Fingerprint.h"

#include "llvm/ADT/StringExtras.h"

using namespace sectile;

/// `%c64_i32` and `%cst_0` carry the value or its place among the constants: both become `%c`.
static void appendWithoutConstantNames(llvm::StringRef line, std::string &result) {
  while (!line.empty()) {
    size_t at = line.find("%c");
    result += line.take_front(at);
    line = line.substr(at);
    if (line.empty())
      return;
    llvm::StringRef name =
        line.drop_front().take_while([](char c) { return llvm::isAlnum(c) || c == '_' || c == '-'; });
    llvm::StringRef value = name.drop_front(name.starts_with("cst") ? 3 : 1);
    const bool constant = value.empty() || value[0] == '_' || value[0] == '-' || llvm::isDigit(value[0]);
    result += constant ? "%c" : ("%" + name).str();
    line = line.drop_front(1 + name.size());
  }
}

std::string sectile::withoutLiterals(llvm::StringRef text) {
  std::string result;
  for (llvm::StringRef rest = text; !rest.empty();) {
    auto [line, next] = rest.split('\n');
    rest = next;
    const llvm::StringLiteral operation = "arith.constant ";
    if (size_t at = line.find(operation); at != llvm::StringRef::npos) {
      appendWithoutConstantNames(line.take_front(at + operation.size()), result);
      line = line.substr(line.rfind(" : ")); // the type stays; without one the value says it: true, false
    }
    appendWithoutConstantNames(line, result);
    result += '\n';
  }
  return result;
}

void LiteralVariants::add(const std::string &kernel, llvm::StringRef text, const Schedule &schedule,
                          const std::string &key) {
  const std::string group = Fingerprint().add(kernel).add(toString(schedule)).add(withoutLiterals(text)).hex();
  size_t count;
  {
    std::lock_guard lock(mutex);
    auto &variants = keys[group];
    if (!variants.insert(key).second)
      return;
    count = variants.size();
  }
  if (count == many)
    log.write(Log::warning, "kernel '" + kernel + "' now has " + std::to_string(many) +
                                " variants that differ in nothing but literals; pass numbers that change from call to "
                                "call through Trace::scalar, so that one compilation serves them all");
}
