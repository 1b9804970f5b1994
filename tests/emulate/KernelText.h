// Kernels for the emulator's own tests, written as text: the llvm dialect, statement by statement.
#pragma once

#include "tests/emulate/WarpEmulator.h"

#include <map>
#include <string>

namespace sectile::warps {

/// Every thread of a kernel finds in %t its number, in %shared the shared memory, in %p0, %p1, … the addresses of the
/// arguments, which are arrays of one dimension, in %map0, … its tensor maps; %f0 is 0.0.
class KernelText {
public:
  /// `arguments`: so many of them are arrays of one dimension; others may follow, which have tensor maps.
  explicit KernelText(int threads, int arguments = 1) : threads(threads), arguments(arguments) {}
  void addMap(int argument, int rows, int columns, int swizzle) {
    const auto field = [](int value) { return std::to_string(value) + " : i64"; };
    maps.push_back("{parameter = " + field(argument) + ", rows = " + field(rows) + ", columns = " + field(columns) +
                   ", swizzle = " + field(swizzle) + "}");
  }

  KernelText &operator<<(const std::string &statement) {
    body += "    " + statement + "\n";
    return *this;
  }
  std::string name() { return "%v" + std::to_string(names++); }
  std::string i32(int64_t value) { return constant(value, "i32"); }
  std::string i64(int64_t value) { return constant(value, "i64"); }
  /// Of an operation with one result.
  std::string value(const std::string &operation) {
    const std::string result = name();
    *this << result + " = " + operation;
    return result;
  }
  std::string binary(const std::string &operation, const std::string &a, const std::string &b) {
    return value("llvm." + operation + " " + a + ", " + b + " : i32");
  }
  std::string equal(const std::string &a, const std::string &b) {
    return value("llvm.icmp \"eq\" " + a + ", " + b + " : i32");
  }
  void call(const std::string &instruction, const std::string &arguments = "", const std::string &types = "",
            const std::string &result = "()") {
    *this << "llvm.call_intrinsic \"llvm.nvvm." + instruction + "\"(" + arguments + ") : (" + types + ") -> " + result;
  }
  /// %shared + bytes, a number or an i32.
  std::string shared(int64_t bytes) { return shared(i32(bytes)); }
  std::string shared(const std::string &bytes) {
    return value("llvm.getelementptr %shared[" + bytes + "] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8");
  }
  /// Word `index` of an argument.
  std::string global(int argument, const std::string &index) {
    return value("llvm.getelementptr %p" + std::to_string(argument) + "[" + index +
                 "] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32");
  }
  /// Only threads where it holds execute what `then` writes.
  template <class F> void when(const std::string &condition, F then) {
    const std::string number = std::to_string(names++);
    *this << "llvm.cond_br " + condition + ", ^then" + number + ", ^rest" + number;
    body += "  ^then" + number + ":\n";
    then();
    *this << "llvm.br ^rest" + number;
    body += "  ^rest" + number + ":\n";
  }
  /// Words of an argument become those of shared memory, by all threads.
  void fillShared(int argument, int count) {
    for (int i = 0; i < count; i += threads) {
      const std::string index = binary("add", "%t", i32(i));
      const auto copy = [&] {
        *this << "llvm.store " + value("llvm.load " + global(argument, index) + " : !llvm.ptr<1> -> i32") + ", " +
                     shared(binary("mul", index, i32(4))) + " : i32, !llvm.ptr<3>";
      };
      when(value("llvm.icmp \"slt\" " + index + ", " + i32(count) + " : i32"), copy);
    }
    barrier();
    call("fence.proxy.async.shared_cta");
  }
  void barrier() { call("barrier.cta.sync.aligned.all", i32(0), "i32"); }

  std::string text() const {
    std::string result = R"(module {
  llvm.mlir.global external @shared() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
  llvm.func @kernel(%words: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<99 x i64>})
      attributes {nvvm.kernel, sectile.threads = )" +
                         std::to_string(threads) + " : i64";
    if (!maps.empty()) {
      result += ", sectile.tensor_maps = [";
      for (size_t i = 0; i < maps.size(); ++i)
        result += (i ? ", " : "") + maps[i];
      result += "]";
    }
    result += "} {\n" + constants;
    result += R"(    %t = llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.tid.x"() : () -> i32
    %shared = llvm.mlir.addressof @shared : !llvm.ptr<3>
    %f0 = llvm.mlir.constant(0.0 : f32) : f32
)";
    const auto word = [&](const std::string &name, size_t index) {
      result += "    " + name + " = llvm.getelementptr %words[" + std::to_string(index) +
                "] : (!llvm.ptr) -> !llvm.ptr, i64\n";
    };
    for (size_t i = 0; i < maps.size(); ++i)
      word("%map" + std::to_string(i), 16 * i);
    for (int i = 0; i < arguments; ++i) {
      const std::string number = std::to_string(i);
      word("%w" + number, 16 * maps.size() + 3 * i);
      result += "    %p" + number + " = llvm.load %w" + number + " : !llvm.ptr -> !llvm.ptr<1>\n";
    }
    return result + body + "    llvm.return\n  }\n}\n";
  }

private:
  std::string constant(int64_t value, const std::string &type) {
    const auto [found, isNew] = known.try_emplace({value, type}, "%k" + std::to_string(known.size()));
    if (isNew)
      constants += "    " + found->second + " = llvm.mlir.constant(" + std::to_string(value) + " : " + type +
                   ") : " + type + "\n";
    return found->second;
  }
  int threads, arguments, names = 0;
  std::vector<std::string> maps;
  std::string constants, body;
  std::map<std::pair<int64_t, std::string>, std::string> known;
};

} // namespace sectile::warps
