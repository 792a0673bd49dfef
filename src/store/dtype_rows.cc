#include "store/dtype_rows.h"

namespace flowscope::store {

SafetensorsRow RowOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return {"F64", true};
    case DType::kFloat32:
      return {"F32", true};
    case DType::kFloat16:
      return {"F16", true};
    case DType::kBfloat16:
      return {"BF16", true};
    case DType::kFloat8E5m2:
      return {"F8_E5M2", true};
    case DType::kFloat8E4m3fn:
      return {"F8_E4M3", true};
    case DType::kInt64:
      return {"I64", true};
    case DType::kInt32:
      return {"I32", true};
    case DType::kInt16:
      return {"I16", true};
    case DType::kInt8:
      return {"I8", true};
    case DType::kUint64:
      return {"U64", true};
    case DType::kUint32:
      return {"U32", true};
    case DType::kUint16:
      return {"U16", true};
    case DType::kUint8:
      return {"U8", true};
    case DType::kBool:
      return {"BOOL", true};
    case DType::kQint32:
      return {"I32"};
    case DType::kQint16:
      return {"I16"};
    case DType::kQuint16:
      return {"U16"};
    case DType::kQint8:
    case DType::kInt4:
    case DType::kInt2:
      return {"I8"};
    case DType::kQuint8:
    case DType::kUint4:
    case DType::kUint2:
    case DType::kFloat8E4m3fnuz:
    case DType::kFloat8E4m3b11fnuz:
    case DType::kFloat8E5m2fnuz:
      return {"U8"};
    case DType::kComplex64:
    case DType::kComplex128:
      return {"U8", false, true};
    default:
      return {"U8"};
  }
}

}  // namespace flowscope::store
