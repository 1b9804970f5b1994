// The tensor maps that the llvm stage says a launch has to encode:
//
//   sectile.tensor_maps = [{parameter = 0 : i64, rows = 128 : i64, columns = 64 : i64, swizzle = 128 : i64}, …]
#include "compiler/support/Diagnostic.h"
#include "compiler/targets/nvptx/Nvptx.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace sectile::nvptx {

static constexpr llvm::StringLiteral attributeName = "sectile.tensor_maps";
static constexpr std::pair<llvm::StringLiteral, uint32_t TensorMap::*> fields[] = {{"parameter", &TensorMap::parameter},
                                                                                   {"rows", &TensorMap::rows},
                                                                                   {"columns", &TensorMap::columns},
                                                                                   {"swizzle", &TensorMap::swizzle}};

static std::optional<TensorMap> read(mlir::Attribute attribute) {
  auto dictionary = llvm::dyn_cast<mlir::DictionaryAttr>(attribute);
  if (!dictionary || dictionary.size() != std::size(fields))
    return std::nullopt;
  TensorMap map{};
  for (auto [name, member] : fields) {
    auto number = llvm::dyn_cast_or_null<mlir::IntegerAttr>(dictionary.get(name));
    if (!number || !number.getType().isSignlessInteger(64) || number.getInt() < 0 || number.getInt() > UINT32_MAX)
      return std::nullopt;
    map.*member = static_cast<uint32_t>(number.getInt());
  }
  return map;
}

llvm::Expected<std::vector<TensorMap>> readTensorMaps(mlir::Operation *kernel) {
  std::vector<TensorMap> maps;
  mlir::Attribute attribute = kernel->getAttr(attributeName);
  if (!attribute)
    return maps;
  const auto malformed = [&](mlir::Attribute culprit) {
    std::string text;
    llvm::raw_string_ostream(text) << culprit;
    return userError(
        llvm::formatv("the attribute {0} of the llvm stage has {1}; legal: a list of dictionaries of {2}, each an i64 "
                      "of 0 or more",
                      attributeName, text,
                      llvm::join(llvm::map_range(fields, [](const auto &field) { return field.first.str(); }), ", ")));
  };
  auto list = llvm::dyn_cast<mlir::ArrayAttr>(attribute);
  if (!list)
    return malformed(attribute);
  for (mlir::Attribute element : list) {
    std::optional<TensorMap> map = read(element);
    if (!map)
      return malformed(element);
    maps.push_back(*map);
  }
  return maps;
}

} // namespace sectile::nvptx
