// The header of a .npy file: a Python dictionary literal with three known keys.

#include "runtime/Npy.h"

#include "sectile/Error.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

using namespace sectile;

namespace {

constexpr std::string_view magic = "\x93NUMPY";

struct Descriptor {
  std::string_view text;
  Type type;
};
constexpr Descriptor descriptors[] = {{"<f4", Type::f32}, {"<f2", Type::f16},      {"<i4", Type::i32},
                                      {"|b1", Type::i1},  {"<V2", Type::bf16},     {"|V2", Type::bf16},
                                      {"V2", Type::bf16}, {"bfloat16", Type::bf16}};

/// Reads the literal from left to right; `fail` names the offset where it stands.
class HeaderParser {
public:
  HeaderParser(std::string_view text, size_t offset, const std::string &name)
      : text(text), offset(offset), name(name) {}

  NpyHeader parse() {
    NpyHeader header;
    std::optional<Type> type;
    std::optional<bool> fortranOrder;
    bool hasShape = false;
    expect('{');
    while (!accept('}')) {
      const std::string_view key = quoted();
      expect(':');
      if (key == "descr" && !type)
        type = descriptor();
      else if (key == "fortran_order" && !fortranOrder)
        fortranOrder = boolean();
      else if (key == "shape" && !hasShape) {
        header.sizes = shape();
        hasShape = true;
      } else
        fail("key '" + std::string(key) + "' is repeated or none of 'descr', 'fortran_order', 'shape'");
      if (!accept(',') && peek() != '}')
        fail("expected ',' or '}' after the value of '" + std::string(key) + "', found " + found());
    }
    if (skipSpace(); position != text.size())
      fail("expected nothing but spaces after '}', found " + found());
    if (!type || !fortranOrder || !hasShape)
      fail(std::string("key '") + (!type ? "descr" : !fortranOrder ? "fortran_order" : "shape") + "' is missing");
    header.type = *type;
    header.fortranOrder = *fortranOrder;
    return header;
  }

private:
  [[noreturn]] void fail(const std::string &rule) const {
    throw UserError(name + ": byte " + std::to_string(offset + position) + ": .npy header: " + rule);
  }

  void skipSpace() {
    while (position < text.size() && std::isspace(static_cast<unsigned char>(text[position])))
      ++position;
  }
  char peek() { // '\0' at the end
    skipSpace();
    return position < text.size() ? text[position] : '\0';
  }
  std::string found() {
    const char c = peek();
    if (!c)
      return "the end";
    return std::isprint(static_cast<unsigned char>(c)) ? std::string("'") + c + "'" : "an unprintable byte";
  }
  bool accept(char c) {
    if (peek() != c || c == '\0')
      return false;
    ++position;
    return true;
  }
  void expect(char c) {
    if (!accept(c))
      fail(std::string("expected '") + c + "', found " + found());
  }

  std::string_view quoted() {
    const char quote = peek();
    if (quote != '\'' && quote != '"')
      fail("expected a quoted string, found " + found());
    const size_t begin = ++position, end = text.find(quote, begin);
    if (end == text.npos)
      fail("the string that begins here has no end");
    position = end + 1;
    return text.substr(begin, end - begin);
  }

  Type descriptor() {
    if (peek() == '[')
      fail("structured types are not supported; 'descr' must be one of " + legalDescriptors());
    const std::string_view descr = quoted();
    for (const Descriptor &known : descriptors)
      if (known.text == descr)
        return known.type;
    std::string advice;
    if (descr.starts_with('>'))
      advice = " (big-endian: convert it with array.astype(array.dtype.newbyteorder('<')))";
    else if (descr == "<f8")
      advice = " (float64: convert it with array.astype('float32'))";
    fail("'descr' is '" + printable(descr) + "'" + advice + ", legal are " + legalDescriptors());
  }
  static std::string legalDescriptors() { return "'<f4' '<f2' '<i4' '|b1' and for bfloat16 '<V2'"; }
  static std::string printable(std::string_view s) {
    std::string result(s.substr(0, 32));
    std::replace_if(result.begin(), result.end(), [](unsigned char c) { return !std::isprint(c); }, '?');
    return result;
  }

  bool boolean() {
    skipSpace();
    for (const std::string_view word : {"True", "False"})
      if (text.substr(position).starts_with(word)) {
        position += word.size();
        return word == "True";
      }
    fail("'fortran_order' must be True or False, found " + found());
  }

  std::vector<int64_t> shape() {
    std::vector<int64_t> sizes;
    expect('(');
    while (!accept(')')) {
      if (sizes.size() == ArrayView::maxRank)
        fail("'shape' has more than " + std::to_string(ArrayView::maxRank) + " dimensions");
      sizes.push_back(size());
      if (!accept(',') && peek() != ')')
        fail("expected ',' or ')' in 'shape', found " + found());
    }
    return sizes;
  }
  int64_t size() {
    skipSpace();
    int64_t value = 0;
    const char *begin = text.data() + position, *end = text.data() + text.size();
    const auto [next, error] = std::from_chars(begin, end, value);
    if (error == std::errc::invalid_argument)
      fail("expected a size in 'shape', found " + found());
    if (error != std::errc() || value < 0 || value > ArrayView::maxSize)
      fail("each size in 'shape' must be from 0 to " + std::to_string(ArrayView::maxSize));
    position += static_cast<size_t>(next - begin);
    return value;
  }

  std::string_view text;
  size_t offset;
  const std::string &name;
  size_t position = 0;
};

/// The bytes that the elements take, or nothing when that exceeds 63 bits.
std::optional<int64_t> bytesOf(const NpyHeader &header) {
  int64_t bytes = typeBytes(header.type);
  if (std::find(header.sizes.begin(), header.sizes.end(), 0) != header.sizes.end())
    return 0;
  for (const int64_t size : header.sizes)
    if (__builtin_mul_overflow(bytes, size, &bytes))
      return std::nullopt;
  return bytes;
}

} // namespace

NpyHeader sectile::parseNpyHeader(std::span<const std::byte> start, uint64_t fileBytes, const std::string &name) {
  const auto fail = [&](size_t at, const std::string &rule) {
    throw UserError(name + ": byte " + std::to_string(at) + ": " + rule);
  };
  const auto byteAt = [&](size_t at) { return std::to_integer<size_t>(start[at]); };

  // 1. Magic, version and the length of the header.
  if (start.size() < 10 || std::memcmp(start.data(), magic.data(), magic.size()) != 0)
    fail(0, "not a .npy file: it does not begin with \\x93NUMPY, a version and a header length");
  const size_t major = byteAt(6), minor = byteAt(7);
  if (major < 1 || major > 3 || minor != 0)
    fail(6, ".npy version " + std::to_string(major) + "." + std::to_string(minor) + ", known are 1.0, 2.0 and 3.0");
  const size_t textOffset = major == 1 ? 10 : 12;
  if (start.size() < textOffset)
    fail(start.size(), "the file ends inside the header length");
  size_t textBytes = byteAt(8) | byteAt(9) << 8;
  if (major > 1)
    textBytes |= byteAt(10) << 16 | byteAt(11) << 24;
  if (textBytes > maxNpyHeaderBytes - textOffset)
    fail(8, "a header of " + std::to_string(textBytes) + " bytes, at most " +
                std::to_string(maxNpyHeaderBytes - textOffset) + " are read");
  if (start.size() - textOffset < textBytes)
    fail(start.size(), "the file ends inside its header of " + std::to_string(textBytes) + " bytes");

  // 2. The dictionary.
  const std::string_view text(reinterpret_cast<const char *>(start.data()) + textOffset, textBytes);
  NpyHeader header = HeaderParser(text, textOffset, name).parse();

  // 3. The elements fill the rest of the file, to the byte.
  header.dataOffset = textOffset + textBytes;
  const uint64_t rest = fileBytes - header.dataOffset;
  const std::optional<int64_t> bytes = bytesOf(header);
  if (!bytes || static_cast<uint64_t>(*bytes) != rest)
    fail(header.dataOffset, "the shape in the header asks for " +
                                (bytes ? std::to_string(*bytes) : std::string("more than 2^63")) +
                                " bytes of elements, the file has " + std::to_string(rest));
  header.dataBytes = *bytes;
  return header;
}

std::vector<int64_t> NpyHeader::strides() const {
  std::vector<int64_t> result(sizes.size());
  int64_t stride = 1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const size_t dimension = fortranOrder ? i : sizes.size() - 1 - i;
    result[dimension] = stride;
    stride *= std::max<int64_t>(sizes[dimension], 1); // in an empty array no stride is ever used, only kept in range
    if (dataBytes == 0)
      stride = 1;
  }
  return result;
}

std::string sectile::npyHeaderText(Type type, std::span<const int64_t> sizes) {
  const auto known = std::find_if(std::begin(descriptors), std::end(descriptors),
                                  [&](const Descriptor &descriptor) { return descriptor.type == type; });
  if (known == std::end(descriptors))
    throw UserError("type " + std::string(typeName(type)) + " has no .npy form; f32, f16, bf16, i32 and i1 have");

  std::string shape;
  for (const int64_t size : sizes)
    shape += std::to_string(size) + (sizes.size() == 1 ? "," : ", ");
  if (sizes.size() > 1)
    shape.resize(shape.size() - 2);
  std::string text =
      "{'descr': '" + std::string(known->text) + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  const size_t fixed = 10; // magic, version, length
  text.append((64 - (fixed + text.size() + 1) % 64) % 64, ' ') += '\n';

  std::string header(magic);
  header += {'\x01', '\x00', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return header + text;
}
