#include "base/element.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "base/chunk_source.h"
#include "base/fp_environment.h"
#include "base/stats.h"

namespace flowscope {
namespace {

constexpr size_t kMaxLiteralBytes = 64;

// The bits of element `index` in units of `size` bytes, low bits first.
uint64_t BitsAt(const Payload& payload, int64_t index, size_t size) {
  uint64_t bits = 0;
  std::memcpy(&bits, static_cast<const char*>(payload.data) + static_cast<size_t>(index) * size,
              size);
  return bits;
}

// How the parts of a complex dtype are stored; the dtype itself for any other.
DType PartDType(DType dtype) {
  if (dtype == DType::kComplex64) return DType::kFloat32;
  if (dtype == DType::kComplex128) return DType::kFloat64;
  return dtype;
}

bool IsSigned(DType dtype) {
  switch (dtype) {
    case DType::kInt8:
    case DType::kInt16:
    case DType::kInt32:
    case DType::kInt64:
    case DType::kQint8:
    case DType::kQint16:
    case DType::kQint32:
      return true;
    default:
      return false;
  }
}

int64_t SignExtend(uint64_t bits, size_t size) {
  const int shift = 64 - 8 * static_cast<int>(size);
  return static_cast<int64_t>(bits << shift) >> shift;
}

double IntegerAsDouble(DType dtype, uint64_t bits) {
  const size_t size = DTypeSize(dtype);
  if (size == 1) return ByteValues(dtype)[bits];
  return IsSigned(dtype) ? static_cast<double>(SignExtend(bits, size)) : static_cast<double>(bits);
}

std::string FormatInteger(DType dtype, uint64_t bits) {
  const size_t size = DTypeSize(dtype);
  if (size == 1) return fmt::format("{:.0f}", ByteValues(dtype)[bits]);
  return IsSigned(dtype) ? fmt::format("{}", SignExtend(bits, size)) : fmt::format("{}", bits);
}

std::string FormatNonFinite(FloatClass float_class) {
  if (float_class == FloatClass::kNan) return "nan";
  return float_class == FloatClass::kPosInf ? "inf" : "-inf";
}

// True where `text` is nearer to the value of `bits`, which is not 0, than to any other code's. The
// gap to the next code towards 0 is never wider than the one on the other side.
bool ReadsBack(const std::string& text, const FloatFormat& format, uint64_t bits) {
  double read = 0;
  std::from_chars(text.data(), text.data() + text.size(), read);
  const double value = DecodeFloat(format, bits);
  const double gap = std::abs(value - DecodeFloat(format, bits - 1));
  return std::abs(read - value) < gap / 2;
}

// Fewest digits that name this value and no other of its format; whole numbers in full, since
// "65504" says more than "65500".
std::string FormatNarrowFloat(const FloatFormat& format, uint64_t bits) {
  const double value = DecodeFloat(format, bits);
  if (value == 0 || (value == std::floor(value) && std::abs(value) < 1e6)) {
    return fmt::format("{}", value);
  }
  std::string text;
  for (int digits = 1; digits <= 17; ++digits) {
    text = fmt::format("{:.{}g}", value, digits);
    if (ReadsBack(text, format, bits)) break;
  }
  return text;
}

// `digits` 0: as many as it takes to tell the value from its neighbours.
std::string FormatFloat(DType dtype, uint64_t bits, int digits) {
  const FloatFormat format = FloatFormatOf(dtype);
  const FloatClass float_class = ClassifyFloat(format, bits);
  if (float_class != FloatClass::kFinite) return FormatNonFinite(float_class);
  const double value = DecodeFloat(format, bits);
  if (digits > 0) return fmt::format("{:.{}g}", value, digits);
  if (dtype == DType::kFloat64) return fmt::format("{}", value);
  if (dtype == DType::kFloat32) {
    return fmt::format("{}", std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
  return FormatNarrowFloat(format, bits);
}

std::string FormatComplex(const Payload& payload, int64_t index, int digits) {
  const DType part = PartDType(payload.dtype);
  const size_t size = DTypeSize(part);
  const std::string real = FormatFloat(part, BitsAt(payload, 2 * index, size), digits);
  const std::string imaginary = FormatFloat(part, BitsAt(payload, 2 * index + 1, size), digits);
  return fmt::format("({}{}{}j)", real, imaginary[0] == '-' ? "" : "+", imaginary);
}

std::string FormatPlain(const Payload& payload, int64_t index, int digits) {
  const DType dtype = payload.dtype;
  if (IsComplex(dtype)) return FormatComplex(payload, index, digits);
  const uint64_t bits = BitsAt(payload, index, DTypeSize(dtype));
  if (dtype == DType::kBool) return bits != 0 ? "True" : "False";
  return IsFloating(dtype) ? FormatFloat(dtype, bits, digits) : FormatInteger(dtype, bits);
}

void AppendByte(char byte, char quote, std::string& text) {
  const auto code = static_cast<unsigned char>(byte);
  if (byte == quote || byte == '\\') {
    text += '\\';
    text += byte;
  } else if (byte == '\n') {
    text += "\\n";
  } else if (byte == '\r') {
    text += "\\r";
  } else if (byte == '\t') {
    text += "\\t";
  } else if (code < 0x20 || code >= 0x7f) {
    fmt::format_to(std::back_inserter(text), "\\x{:02x}", code);
  } else {
    text += byte;
  }
}

}  // namespace

int64_t ReadableElements(const Payload& payload) {
  if (payload.dtype == DType::kString) return static_cast<int64_t>(payload.strings.size());
  const size_t size = DTypeSize(payload.dtype);
  if (size == 0 || payload.data == nullptr) return 0;
  const int64_t held = static_cast<int64_t>(payload.nbytes / size);
  return std::clamp<int64_t>(payload.num_elements(), 0, held);
}

FloatClass ClassifyElement(const Payload& payload, int64_t index) {
  const DType part = PartDType(payload.dtype);
  if (!IsFloating(part)) return FloatClass::kFinite;
  const FloatFormat format = FloatFormatOf(part);
  const size_t size = DTypeSize(part);
  if (part == payload.dtype) return ClassifyFloat(format, BitsAt(payload, index, size));
  const FloatClass real = ClassifyFloat(format, BitsAt(payload, 2 * index, size));
  const FloatClass imaginary = ClassifyFloat(format, BitsAt(payload, 2 * index + 1, size));
  if (real == FloatClass::kNan || imaginary == FloatClass::kNan) return FloatClass::kNan;
  return real != FloatClass::kFinite ? real : imaginary;
}

std::string FormatBytesLiteral(std::string_view bytes, size_t max_bytes) {
  const std::string_view shown = bytes.substr(0, max_bytes);
  const bool double_quoted = shown.find('\'') != shown.npos && shown.find('"') == shown.npos;
  const char quote = double_quoted ? '"' : '\'';
  std::string text = {'b', quote};
  for (char byte : shown) AppendByte(byte, quote, text);
  text += quote;
  if (shown.size() < bytes.size()) text += fmt::format("... ({} bytes)", bytes.size());
  return text;
}

std::string FormatElementShort(const Payload& payload, int64_t index, int digits) {
  // Printing compares with zero, which a thread that flushes denormals would take them for.
  const ScopedDefaultFpEnvironment environment;
  if (!IsPlainBytes(payload.dtype) && payload.dtype != DType::kString) {
    return fmt::format("<{}>", DTypeName(payload.dtype));
  }
  if (index < 0 || index >= ReadableElements(payload)) return "?";
  if (payload.dtype == DType::kString) {
    return FormatBytesLiteral(payload.strings[static_cast<size_t>(index)], kMaxLiteralBytes);
  }
  return FormatPlain(payload, index, digits);
}

std::string FormatElement(const Payload& payload, int64_t index) {
  return FormatElementShort(payload, index, 0);
}

std::optional<double> ElementAsDouble(const Payload& payload, int64_t index) {
  const DType dtype = payload.dtype;
  if (!IsPlainBytes(dtype) || index < 0 || index >= ReadableElements(payload)) return std::nullopt;
  const DType part = PartDType(dtype);
  const size_t size = DTypeSize(part);
  if (IsComplex(dtype)) {
    const ScopedDefaultFpEnvironment environment;
    const FloatFormat format = FloatFormatOf(part);
    return ComplexMagnitude(DecodeFloat(format, BitsAt(payload, 2 * index, size)),
                            DecodeFloat(format, BitsAt(payload, 2 * index + 1, size)));
  }
  const uint64_t bits = BitsAt(payload, index, size);
  if (IsFloating(dtype)) return DecodeFloat(FloatFormatOf(dtype), bits);
  return IntegerAsDouble(dtype, bits);
}

std::vector<int64_t> Unravel(int64_t index, const Dims& dims) {
  std::vector<int64_t> coordinates(dims.size(), 0);
  for (size_t axis = dims.size(); axis-- > 0;) {
    if (dims[axis] <= 0) return std::vector<int64_t>(dims.size(), 0);
    coordinates[axis] = index % dims[axis];
    index /= dims[axis];
  }
  return coordinates;
}

}  // namespace flowscope
