#include "export/npz.h"

#include <array>

#include "export/npy.h"
#include "store/zip_writer.h"

namespace flowscope::exports {

Status WriteNpz(const Trace& trace, std::span<const NamedValue> values, store::File file) {
  store::ZipWriter zip(std::move(file));
  for (const auto& [name, tensor] : values) {
    const Result<Payload> value = trace.ReadTensor(tensor);
    if (!value.ok()) return value.status();
    const Result<NpyArray> array = ToNpy(*value);
    if (!array.ok()) return array.status();
    const std::array<std::string_view, 2> pieces = {array->header, array->bytes()};
    FLOWSCOPE_RETURN_IF_ERROR(zip.Add(name + ".npy", pieces));
  }
  return zip.Finish();
}

}  // namespace flowscope::exports
