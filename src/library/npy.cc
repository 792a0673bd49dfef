#include "flowscope/npy.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <fstream>
#include <optional>

#include "export/npy.h"
#include "savedmodel/read_file.h"

namespace flowscope::api {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr int64_t kMaxElements = int64_t{1} << 48;

struct NpyType {
  std::string_view code;  // without the byte order
  DType dtype;
};

constexpr std::array<NpyType, 15> kTypes = {{{"f4", DType::kFloat32},
                                             {"f8", DType::kFloat64},
                                             {"f2", DType::kFloat16},
                                             {"i1", DType::kInt8},
                                             {"i2", DType::kInt16},
                                             {"i4", DType::kInt32},
                                             {"i8", DType::kInt64},
                                             {"u1", DType::kUint8},
                                             {"u2", DType::kUint16},
                                             {"u4", DType::kUint32},
                                             {"u8", DType::kUint64},
                                             {"b1", DType::kBool},
                                             {"c8", DType::kComplex64},
                                             {"c16", DType::kComplex128},
                                             {"V2", DType::kBfloat16}}};

struct Header {
  std::string descr;
  bool fortran = false;
  Dims dims;
};

Status Bad(const std::string& path, const std::string& what) {
  return Corruption(path + " is no sound .npy file: " + what);
}

// The text after "'key':" in the header, which is a Python dictionary written on one line.
std::optional<std::string_view> FieldOf(std::string_view header, std::string_view key) {
  const size_t at = header.find("'" + std::string(key) + "'");
  if (at == std::string_view::npos) return {};
  const size_t colon = header.find(':', at);
  if (colon == std::string_view::npos) return {};
  std::string_view text = header.substr(colon + 1);
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return text;
}

std::optional<Dims> ParseShape(std::string_view text) {
  const size_t close = text.find(')');
  if (!text.starts_with('(') || close == std::string_view::npos) return {};
  text = text.substr(1, close - 1);
  Dims dims;
  int64_t count = 1;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(" ,"), text.size()));
    if (text.empty()) return dims;
    int64_t dim = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), dim);
    if (parsed.ec != std::errc() || dim < 0 || dim > kMaxElements) return {};
    count *= std::max<int64_t>(dim, 1);
    if (count > kMaxElements) return {};
    dims.push_back(dim);
    text.remove_prefix(static_cast<size_t>(parsed.ptr - text.data()));
    if (text.starts_with('L')) text.remove_prefix(1);
  }
}

Result<Header> ParseHeader(const std::string& path, std::string_view text) {
  Header header;
  const auto descr = FieldOf(text, "descr");
  const auto fortran = FieldOf(text, "fortran_order");
  const auto shape = FieldOf(text, "shape");
  if (!descr || !fortran || !shape) return Bad(path, "its header lacks descr, order or shape");
  if (!descr->starts_with('\'')) {
    return Unsupported(path + " holds values of a structured type; expected plain numbers or text");
  }
  const size_t end = descr->find('\'', 1);
  if (end == std::string_view::npos) return Bad(path, "its descr has no end");
  header.descr = descr->substr(1, end - 1);
  header.fortran = fortran->starts_with("True");
  std::optional<Dims> dims = ParseShape(*shape);
  if (!dims) return Bad(path, "its shape cannot be read");
  header.dims = std::move(dims).value();
  return header;
}

// What a payload of text points into.
struct Strings {
  std::vector<std::string> text;
  std::vector<std::string_view> views;
};

void AppendUtf8(uint32_t code, std::string& text) {
  const auto add = [&text](uint32_t byte) { text += static_cast<char>(byte); };
  if (code < 0x80) {
    add(code);
  } else if (code < 0x800) {
    add(0xC0 | (code >> 6));
    add(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    add(0xE0 | (code >> 12));
    add(0x80 | ((code >> 6) & 0x3F));
    add(0x80 | (code & 0x3F));
  } else {
    add(0xF0 | ((code >> 18) & 0x07));
    add(0x80 | ((code >> 12) & 0x3F));
    add(0x80 | ((code >> 6) & 0x3F));
    add(0x80 | (code & 0x3F));
  }
}

std::string ElementText(const char* element, size_t width, bool is_unicode) {
  if (!is_unicode) {
    size_t length = width;
    while (length > 0 && element[length - 1] == '\0') --length;
    return {element, length};
  }
  std::string text;
  for (size_t i = 0; i < width; ++i) {
    uint32_t code = 0;
    std::memcpy(&code, element + i * sizeof(code), sizeof(code));
    if (code != 0) AppendUtf8(code, text);
  }
  return text;
}

void SwapBytes(std::string& bytes, size_t width) {
  for (size_t at = 0; at + width <= bytes.size(); at += width) {
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                 bytes.begin() + static_cast<std::ptrdiff_t>(at + width));
  }
}

// From the first index fastest to the last index fastest.
std::string ToRowMajor(const std::string& bytes, const Dims& dims, size_t width) {
  std::string result(bytes.size(), '\0');
  Dims at(dims.size());
  Dims stride(dims.size(), 1);
  for (size_t i = 1; i < dims.size(); ++i) stride[i] = stride[i - 1] * dims[i - 1];
  for (size_t to = 0; to + width <= bytes.size(); to += width) {
    int64_t from = 0;
    for (size_t i = 0; i < dims.size(); ++i) from += at[i] * stride[i];
    std::memcpy(result.data() + to, bytes.data() + static_cast<size_t>(from) * width, width);
    for (size_t i = dims.size(); i-- > 0;) {
      if (++at[i] < dims[i]) break;
      at[i] = 0;
    }
  }
  return result;
}

Payload TextPayload(const std::string& bytes, const Dims& dims, size_t width, bool is_unicode) {
  auto strings = std::make_shared<Strings>();
  const size_t step = width * (is_unicode ? sizeof(uint32_t) : 1);
  const auto count = static_cast<size_t>(NumElements(dims));
  for (size_t i = 0; i < count; ++i) {
    strings->text.push_back(ElementText(bytes.data() + i * step, width, is_unicode));
  }
  Payload payload;
  payload.dtype = DType::kString;
  payload.dims = dims;
  for (const std::string& text : strings->text) {
    strings->views.emplace_back(text);
    payload.nbytes += text.size();
  }
  payload.strings = strings->views;
  payload.owner = std::move(strings);
  return payload;
}

// Size of one element, and of what is swapped for the other byte order.
struct Layout {
  DType dtype = DType::kInvalid;
  size_t width = 0;   // characters for text
  size_t nbytes = 0;  // of one element
  size_t swapped = 0;
  bool is_unicode = false;
};

Result<Layout> LayoutOf(const std::string& path, const Header& header) {
  if (header.descr.size() < 2) return Bad(path, "descr '" + header.descr + "'");
  const std::string_view code = std::string_view(header.descr).substr(1);
  Layout layout;
  if (code[0] == 'S' || code[0] == 'U') {
    const auto parsed = std::from_chars(code.data() + 1, code.data() + code.size(), layout.width);
    if (parsed.ec != std::errc() || layout.width > (size_t{1} << 30)) {
      return Bad(path, "descr '" + header.descr + "'");
    }
    layout.dtype = DType::kString;
    layout.is_unicode = code[0] == 'U';
    layout.nbytes = layout.width * (layout.is_unicode ? 4 : 1);
    layout.swapped = layout.is_unicode ? 4 : 1;
    return layout;
  }
  if (code[0] == 'O') {
    return Unsupported(path +
                       " holds Python objects, which are never unpickled; save numbers, or "
                       "text as np.array([...], dtype='S')");
  }
  const auto type = std::ranges::find(kTypes, code, &NpyType::code);
  if (type == kTypes.end()) {
    return Unsupported(path + " holds values of NumPy's type '" + header.descr +
                       "', which TensorFlow does not have");
  }
  layout.dtype = type->dtype;
  layout.nbytes = DTypeSize(type->dtype);
  layout.swapped = IsComplex(type->dtype) ? layout.nbytes / 2 : layout.nbytes;
  return layout;
}

Result<Payload> MakePayload(const std::string& path, const Header& header, std::string bytes) {
  Result<Layout> layout = LayoutOf(path, header);
  if (!layout.ok()) return layout.status();
  const auto expected = static_cast<size_t>(NumElements(header.dims)) * layout->nbytes;
  if (bytes.size() != expected) {
    return Bad(path, "its shape needs " + std::to_string(expected) +
                         " bytes of values and it has " + std::to_string(bytes.size()));
  }
  const bool is_big = header.descr[0] == '>';
  if (is_big == (std::endian::native == std::endian::little) && layout->swapped > 1) {
    SwapBytes(bytes, layout->swapped);
  }
  if (header.fortran && header.dims.size() > 1 && layout->nbytes > 0) {
    bytes = ToRowMajor(bytes, header.dims, layout->nbytes);
  }
  if (layout->dtype == DType::kString) {
    return TextPayload(bytes, header.dims, layout->width, layout->is_unicode);
  }
  Payload payload;
  payload.dtype = layout->dtype;
  payload.dims = header.dims;
  auto owner = std::make_shared<const std::string>(std::move(bytes));
  payload.data = owner->data();
  payload.nbytes = owner->size();
  payload.owner = std::move(owner);
  return payload;
}

}  // namespace

Result<Payload> ReadNpy(const std::string& path) {
  Result<std::string> read = savedmodel::ReadFile(path);
  if (!read.ok()) return read.status();
  const std::string& bytes = *read;
  if (!bytes.starts_with(kMagic) || bytes.size() < kMagic.size() + 4) {
    return InvalidArgument(path + " is no .npy file; write one with numpy.save");
  }
  const size_t size_at = kMagic.size() + 2;
  const size_t size_width = bytes[kMagic.size()] == 1 ? 2 : 4;
  if (bytes.size() < size_at + size_width) return Bad(path, "it ends in its header");
  size_t length = 0;
  for (size_t i = 0; i < size_width; ++i) {
    length |= static_cast<size_t>(static_cast<unsigned char>(bytes[size_at + i])) << (8 * i);
  }
  const size_t values_at = size_at + size_width + length;
  if (bytes.size() < values_at) return Bad(path, "it ends in its header");
  Result<Header> header =
      ParseHeader(path, std::string_view(bytes).substr(size_at + size_width, length));
  if (!header.ok()) return header.status();
  return MakePayload(path, *header, bytes.substr(values_at));
}

Status WriteNpy(const std::string& path, const Payload& value) {
  const Result<exports::NpyArray> array = exports::ToNpy(value);
  if (!array.ok()) return array.status();
  std::ofstream stream(path, std::ios::binary | std::ios::trunc);
  stream << array->header << array->bytes();
  stream.close();
  return stream ? Status::Ok() : IoError(path + " cannot be written");
}

}  // namespace flowscope::api
