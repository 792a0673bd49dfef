// Ops, their inputs and their outputs.
#include <algorithm>
#include <unordered_map>
#include <vector>

#include "trace/lint_findings.h"

namespace flowscope {
namespace {

bool IsSource(OpKind kind) {
  return kind == OpKind::kInput || kind == OpKind::kConstant || kind == OpKind::kFromPython;
}

void CheckRunCounters(const Trace& trace, Findings& findings) {
  findings.StartRule("run counters");
  uint32_t last = 0;
  uint32_t executed = 0;
  for (OpId id = 0; id < trace.num_ops(); ++id) {
    const OpRecord& op = trace.op(id);
    if (op.run_counter == 0) {
      // An intervention may be a value put in place of another one.
      if (IsSource(op.kind) || op.kind == OpKind::kIntervention) continue;
      findings.Add("{} has no run counter, though it was executed", NameOp(trace, id));
      continue;
    }
    if (IsSource(op.kind)) {
      findings.Add("{} is a source and has run counter {}", NameOp(trace, id), op.run_counter);
    }
    if (op.run_counter != last + 1) {
      findings.Add("{} has run counter {} after {}", NameOp(trace, id), op.run_counter, last);
    }
    last = op.run_counter;
    ++executed;
  }
  if (executed != trace.info().num_executed) {
    findings.Add("{} ops were executed, but {} are recorded", trace.info().num_executed, executed);
  }
}

void CheckOutcomes(const Trace& trace, Findings& findings) {
  findings.StartRule("outcomes of ops");
  for (OpId id = 0; id < trace.num_ops(); ++id) {
    const OpRecord& op = trace.op(id);
    if (op.error != 0 && op.outputs.count != 0) {
      findings.Add("{} failed and has {} outputs", NameOp(trace, id), op.outputs.count);
    }
    if (IsSource(op.kind) && op.inputs.count != 0) {
      findings.Add("{} is a source and has {} inputs", NameOp(trace, id), op.inputs.count);
    }
    if (op.duration_ns < 0) {
      findings.Add("{} took {} ns", NameOp(trace, id), op.duration_ns);
    }
  }
}

// The counts of completeness are counts of edges: each must belong to one op.
void CheckEdgeOwners(const Trace& trace, Findings& findings) {
  findings.StartRule("edges without an op of their own");
  std::vector<OpId> owner(trace.tables().edges.size(), kNoId);
  for (OpId id = 0; id < trace.num_ops(); ++id) {
    const Span inputs = trace.op(id).inputs;
    for (uint32_t edge = inputs.first; edge < inputs.first + inputs.count; ++edge) {
      if (owner[edge] != kNoId) {
        findings.Add("edge {} is an input of {} and of {}", edge, NameOp(trace, owner[edge]),
                     NameOp(trace, id));
      }
      owner[edge] = id;
    }
  }
  for (size_t edge = 0; edge < owner.size(); ++edge) {
    if (owner[edge] == kNoId) findings.Add("edge {} is an input of no op", edge);
  }
}

std::string NameInput(const Trace& trace, OpId op, size_t index) {
  return fmt::format("input {} of {}", index, NameOp(trace, op));
}

bool ClassFitsProducer(EdgeClass edge_class, OpKind kind) {
  switch (edge_class) {
    case EdgeClass::kOp:
      return !IsSource(kind);
    case EdgeClass::kInput:
      return kind == OpKind::kInput;
    case EdgeClass::kConstant:
      return kind == OpKind::kConstant;
    case EdgeClass::kFromPython:
      return kind == OpKind::kFromPython;
    case EdgeClass::kLiteral:
      return false;
    default:
      return true;
  }
}

bool NeedsProducer(EdgeClass edge_class) {
  return edge_class == EdgeClass::kOp || edge_class == EdgeClass::kInput ||
         edge_class == EdgeClass::kConstant || edge_class == EdgeClass::kFromPython;
}

bool ClassFitsDType(EdgeClass edge_class, DType dtype) {
  if (edge_class == EdgeClass::kVariable) return dtype == DType::kResource;
  if (edge_class == EdgeClass::kResource) {
    return dtype == DType::kResource || dtype == DType::kVariant;
  }
  return true;
}

void CheckEdge(const Trace& trace, OpId consumer, size_t index, Findings& findings) {
  const EdgeRecord edge = trace.inputs(consumer)[index];
  if (edge.edge_class == EdgeClass::kUnexplained) return;  // counted elsewhere
  const std::string_view class_name = EdgeClassName(edge.edge_class);
  if (edge.tensor == kNoId) {
    findings.Add("{} is of class {} and names no tensor", NameInput(trace, consumer, index),
                 class_name);
    return;
  }
  const TensorRecord& tensor = trace.tensor(edge.tensor);
  if (!ClassFitsDType(edge.edge_class, tensor.dtype)) {
    findings.Add("{} is of class {}, but {} is {}", NameInput(trace, consumer, index), class_name,
                 NameTensor(trace, edge.tensor), DTypeName(tensor.dtype));
  }
  if (tensor.producer == kNoId) {
    if (!NeedsProducer(edge.edge_class)) return;
    findings.Add("{} is of class {}, but nothing produced {}", NameInput(trace, consumer, index),
                 class_name, NameTensor(trace, edge.tensor));
    return;
  }
  if (tensor.producer >= consumer) {
    findings.Add("{} is {}, which started no earlier", NameInput(trace, consumer, index),
                 NameTensor(trace, edge.tensor));
  }
  const OpKind kind = trace.op(tensor.producer).kind;
  if (!ClassFitsProducer(edge.edge_class, kind)) {
    findings.Add("{} is of class {}, but {} is of kind {}", NameInput(trace, consumer, index),
                 class_name, NameOp(trace, tensor.producer), OpKindName(kind));
  }
}

// A handle names a variable or another resource, in every op that takes it.
void CheckResourceClasses(const Trace& trace, Findings& findings) {
  findings.StartRule("handles of two classes");
  std::unordered_map<TensorId, EdgeClass> classes;
  for (OpId id = 0; id < trace.num_ops(); ++id) {
    const auto inputs = trace.inputs(id);
    for (size_t i = 0; i < inputs.size(); ++i) {
      const bool is_handle = inputs[i].edge_class == EdgeClass::kVariable ||
                             inputs[i].edge_class == EdgeClass::kResource;
      if (!is_handle) continue;
      const auto [it, is_new] = classes.try_emplace(inputs[i].tensor, inputs[i].edge_class);
      if (is_new || it->second == inputs[i].edge_class) continue;
      findings.Add("{} is of class {}, elsewhere it is {}", NameInput(trace, id, i),
                   EdgeClassName(inputs[i].edge_class), EdgeClassName(it->second));
    }
  }
}

void CheckUnexplained(const Trace& trace, Findings& findings) {
  findings.StartRule("unexplained inputs");
  int64_t count = 0;
  std::string first;
  for (OpId id = 0; id < trace.num_ops(); ++id) {
    const auto inputs = trace.inputs(id);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].edge_class != EdgeClass::kUnexplained) continue;
      if (count++ == 0) first = NameInput(trace, id, i);
    }
  }
  if (count > 0) findings.Add("{} inputs are unexplained, the first is {}", count, first);
}

// By op: how many tensors there were before its outputs came. An op that opened a function gets its
// outputs after those of the ops inside.
std::vector<uint32_t> TensorsBefore(const Trace& trace) {
  std::vector<uint32_t> before(trace.num_ops());
  auto least = static_cast<uint32_t>(trace.tables().tensors.size());
  for (OpId id = static_cast<OpId>(trace.num_ops()); id-- > 0;) {
    const Span outputs = trace.op(id).outputs;
    if (outputs.count > 0) least = std::min(least, outputs.first);
    before[id] = least;
  }
  return before;
}

// A handle that the recording holds keeps its address from then on; where a value was let go, the
// address can come back as another tensor.
void CheckHandles(const Trace& trace, Findings& findings) {
  findings.StartRule("handles that name two tensors");
  std::unordered_map<uint64_t, TensorId> held;
  held.reserve(trace.tables().tensors.size());
  for (TensorId id = 0; id < trace.tables().tensors.size(); ++id) {
    const uint64_t handle = trace.tensor(id).handle;
    if (handle == 0 || held.emplace(handle, id).second) continue;
    findings.Add("{} has the handle of {}", NameTensor(trace, id),
                 NameTensor(trace, held.at(handle)));
  }
  const std::vector<uint32_t> tensors_before = TensorsBefore(trace);
  for (OpId id = 0; id < trace.num_ops(); ++id) {
    const auto inputs = trace.inputs(id);
    for (size_t i = 0; i < inputs.size(); ++i) {
      const EdgeRecord& edge = inputs[i];
      if (edge.handle == 0 || edge.tensor == kNoId) continue;
      const auto it = held.find(edge.handle);
      const bool was_there = it != held.end() && it->second < tensors_before[id];
      if (was_there && it->second != edge.tensor) {
        findings.Add("{} has the handle of {}, but is {}", NameInput(trace, id, i),
                     NameTensor(trace, it->second), NameTensor(trace, edge.tensor));
      } else if (it == held.end() && trace.tensor(edge.tensor).state == PayloadState::kKept) {
        held.emplace(edge.handle, edge.tensor);
      }
    }
  }
}

void CheckOutputs(const Trace& trace, Findings& findings) {
  findings.StartRule("outputs");
  for (OpId id = 0; id < trace.num_ops(); ++id) {
    const Span outputs = trace.op(id).outputs;
    for (uint32_t i = 0; i < outputs.count; ++i) {
      const TensorRecord& tensor = trace.tensor(outputs.first + i);
      if (tensor.producer == id && tensor.output_index == i) continue;
      findings.Add("output {} of {} is tensor {}, which is output {} of {}", i, NameOp(trace, id),
                   outputs.first + i, tensor.output_index,
                   tensor.producer == kNoId ? "nothing" : NameOp(trace, tensor.producer));
    }
  }
  for (TensorId id = 0; id < trace.tables().tensors.size(); ++id) {
    const TensorRecord& tensor = trace.tensor(id);
    if (tensor.producer == kNoId) continue;
    const Span outputs = trace.op(tensor.producer).outputs;
    if (id < outputs.first || id >= outputs.first + outputs.count) {
      findings.Add("{} does not stand among the op's outputs", NameTensor(trace, id));
    }
  }
}

void CheckValue(const Trace& trace, TensorId id, Findings& findings) {
  const TensorRecord& tensor = trace.tensor(id);
  const bool handle_only = tensor.dtype == DType::kResource || tensor.dtype == DType::kVariant;
  if (handle_only && tensor.state != PayloadState::kNoValue) {
    findings.Add("{} is {} and has state {}", NameTensor(trace, id), DTypeName(tensor.dtype),
                 PayloadStateName(tensor.state));
  }
  const auto size = static_cast<int64_t>(DTypeSize(tensor.dtype));
  if (tensor.state != PayloadState::kKept || !tensor.shape_known || size == 0) return;
  const int64_t expected = NumElements(trace.dims(tensor.dims)) * size;
  if (tensor.nbytes != expected) {
    findings.Add("{} has {} bytes, but its shape and dtype make {}", NameTensor(trace, id),
                 tensor.nbytes, expected);
  }
}

}  // namespace

void LintOps(const Trace& trace, Findings& findings) {
  CheckRunCounters(trace, findings);
  CheckOutcomes(trace, findings);
  CheckEdgeOwners(trace, findings);
}

void LintEdges(const Trace& trace, Findings& findings) {
  findings.StartRule("classes of inputs");
  for (OpId id = 0; id < trace.num_ops(); ++id) {
    for (size_t i = 0; i < trace.op(id).inputs.count; ++i) CheckEdge(trace, id, i, findings);
  }
  CheckResourceClasses(trace, findings);
  CheckUnexplained(trace, findings);
  CheckHandles(trace, findings);
}

void LintTensors(const Trace& trace, Findings& findings) {
  CheckOutputs(trace, findings);
  findings.StartRule("values of tensors");
  for (TensorId id = 0; id < trace.tables().tensors.size(); ++id) CheckValue(trace, id, findings);
}

}  // namespace flowscope
