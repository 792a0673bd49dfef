#include "analyze/flop_formulas.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "analyze/flop_parts.h"

namespace flowscope {
namespace {

constexpr std::string_view kElementwise =
    "convention: an elementwise op is one operation per output element, exp and tanh too";

constexpr std::string_view kUnary =
    "Abs Neg Sign Square Sqrt Rsqrt Exp Expm1 Log Log1p Sin Cos Tan Asin Acos Atan Sinh Cosh Tanh "
    "Asinh Acosh Atanh Sigmoid Erf Erfc Erfinv Ndtri Lgamma Digamma BesselI0 BesselI0e BesselI1 "
    "BesselI1e BesselJ0 BesselJ1 BesselK0 BesselK0e BesselK1 BesselK1e BesselY0 BesselY1 Dawsn "
    "Expint FresnelCos FresnelSin Spence PopulationCount CheckNumerics CheckNumericsV2 Reciprocal "
    "Inv Floor Ceil Round Rint Relu Relu6 LeakyRelu Elu Selu Softplus Softsign IsNan "
    "IsInf IsFinite LogicalNot Invert Conj Angle ComplexAbs";

constexpr std::string_view kBinary =
    "Add AddV2 Sub Mul Div RealDiv TruncateDiv FloorDiv DivNoNan MulNoNan Mod FloorMod "
    "TruncateMod Maximum Minimum Pow Atan2 Xdivy Xlogy Xlog1py NextAfter BiasAdd BiasAddV1 "
    "LeftShift RightShift BitwiseAnd BitwiseOr BitwiseXor LogicalAnd LogicalOr Equal NotEqual "
    "ApproximateEqual Greater GreaterEqual Less LessEqual Select SelectV2 Igamma Igammac "
    "IgammaGradA RandomGammaGrad Polygamma Zeta Betainc";

constexpr std::string_view kReductions =
    "Sum Mean Prod Max Min All Any ArgMax ArgMin Cumsum Cumprod SegmentSum SegmentMean SegmentMax "
    "SegmentMin SegmentProd UnsortedSegmentSum UnsortedSegmentMax UnsortedSegmentMin "
    "UnsortedSegmentProd BiasAddGrad";

constexpr std::string_view kZero =
    "Reshape Identity IdentityN Snapshot StopGradient PreventGradient EnsureShape Cast Bitcast "
    "Shape ShapeN Size Rank ExpandDims Squeeze Transpose ConjugateTranspose StridedSlice "
    "StridedSliceGrad Slice Concat ConcatV2 ConcatOffset Pack Unpack Split SplitV Pad PadV2 "
    "MirrorPad Tile BroadcastTo BroadcastArgs BroadcastGradientArgs Gather GatherV2 GatherNd "
    "ResourceGather ResourceGatherNd OneHot Reverse ReverseV2 ReverseSequence Roll SpaceToBatch "
    "SpaceToBatchND BatchToSpace BatchToSpaceND SpaceToDepth DepthToSpace MatrixDiag MatrixDiagV2 "
    "MatrixDiagV3 MatrixDiagPart MatrixDiagPartV2 MatrixDiagPartV3 MatrixSetDiag MatrixSetDiagV3 "
    "MatrixBandPart Diag DiagPart InvertPermutation DynamicStitch DynamicPartition Where Real "
    "Imag Complex Fill ZerosLike OnesLike Const Empty Placeholder NoOp Assert Print PrintV2 "
    "VarHandleOp VarIsInitializedOp ReadVariableOp VariableShape AssignVariableOp "
    "DestroyResourceOp TensorListReserve TensorListFromTensor TensorListSetItem TensorListGetItem "
    "TensorListStack TensorListLength EmptyTensorList TensorListPushBack TensorListPopBack "
    "TensorListElementShape TensorScatterUpdate ResourceScatterUpdate ResourceScatterNdUpdate "
    "ExtractImagePatches ExtractVolumePatches ResizeNearestNeighbor RandomShuffle Timestamp "
    "SparseToDense SparseReshape SparseReorder SparseSlice SparseConcat RaggedGather "
    "RaggedTensorToTensor RaggedTensorToSparse RaggedTensorToVariant RaggedTensorFromVariant";

// Bits and counters, from which the ops that draw make numbers.
constexpr std::string_view kRandomState =
    "StatelessRandomGetKeyCounter StatelessRandomGetAlg StatelessRandomGetKeyCounterAlg RngSkip "
    "RngReadAndSkip StatefulUniformFullInt StatelessRandomUniformFullInt "
    "StatelessRandomUniformFullIntV2";

constexpr std::string_view kTextAndTables =
    "StringLower StringUpper StringStrip StringLength StringSplit StringSplitV2 StringJoin "
    "StringFormat StringNGrams StringToHashBucket StringToHashBucketFast StringToHashBucketStrong "
    "StringToNumber AsString Substr ReduceJoin UnsortedSegmentJoin RegexReplace RegexFullMatch "
    "StaticRegexReplace StaticRegexFullMatch UnicodeDecode UnicodeDecodeWithOffsets UnicodeEncode "
    "UnicodeTranscode UnicodeScript DecodeRaw DecodePaddedRaw EncodeBase64 DecodeBase64 "
    "HashTableV2 "
    "MutableHashTableV2 AnonymousHashTable AnonymousMutableHashTable InitializeTableV2 "
    "InitializeTableFromTextFileV2 LookupTableFindV2 LookupTableInsertV2 LookupTableRemoveV2 "
    "LookupTableImportV2 LookupTableExportV2 LookupTableSizeV2";

std::optional<int64_t> Zero(const FlopOp&, int64_t) { return 0; }

std::optional<int64_t> AddNFlops(const FlopOp& op, int64_t factor) {
  if (op.num_inputs() == 0) return 0;
  return Scaled(op.OutputElements(0), factor * (static_cast<int64_t>(op.num_inputs()) - 1));
}

std::optional<int64_t> WindowFlops(const FlopOp& op, std::optional<int64_t> elements) {
  const std::optional<std::vector<int64_t>> window = op.IntsAttr("ksize");
  if (!window) return std::nullopt;
  return Scaled(CheckedProduct(*window), elements.value_or(-1));
}

std::optional<int64_t> PoolFlops(const FlopOp& op, int64_t) {
  return WindowFlops(op, op.OutputElements(0));
}

std::optional<int64_t> AvgPoolGradFlops(const FlopOp& op, int64_t) {
  return WindowFlops(op, op.InputElements(1));
}

std::optional<int64_t> BatchNormFlops(const FlopOp& op, int64_t) {
  return Scaled(op.InputElements(0), op.BoolAttr("is_training", true) ? 6 : 2);
}

std::optional<int64_t> MomentumFlops(const FlopOp& op, int64_t) {
  return Scaled(op.InputElements(3), op.BoolAttr("use_nesterov", false) ? 6 : 4);
}

std::optional<int64_t> KerasMomentumFlops(const FlopOp& op, int64_t) {
  return Scaled(op.InputElements(3), op.BoolAttr("use_nesterov", false) ? 7 : 4);
}

std::optional<int64_t> AdamFlops(const FlopOp& op, int64_t) {
  return Scaled(op.InputElements(9), op.BoolAttr("use_nesterov", false) ? 15 : 12);
}

std::vector<FlopRow> ContractionRows() {
  return {
      {"MatMul", MatMulFlops, 2, "2*m*n*k: k multiply-adds for each element of an m x n result",
       "Golub & Van Loan, Matrix Computations, chapter 1 (flops of a matrix product)"},
      {"BatchMatMul BatchMatMulV2 BatchMatMulV3", BatchMatMulFlops, 2,
       "2*m*n*k for each matrix of the broadcast batch",
       "Golub & Van Loan, Matrix Computations, chapter 1 (flops of a matrix product)"},
      {"Einsum", EinsumFlops, 1,
       "product of all label sizes, times 2 where two inputs meet and a label is summed over, "
       "times 1 where only one of both is so, 0 for a mere rearrangement; at most two inputs",
       kByDefinition},
  };
}

std::vector<FlopRow> ConvolutionRows() {
  return {
      {"Conv Conv2D Conv3D", ConvFlops, 2,
       "2 * output elements * filter spatial size * input channels per group; padding counts",
       "direct convolution, counted from the definition of the op"},
      {"Conv2DBackpropInput Conv3DBackpropInput Conv3DBackpropInputV2", ConvInputGradFlops, 2,
       "2 * gradient elements * filter spatial size * input channels per group; padding counts",
       "transposed convolution, counted from the definition of the op"},
      {"Conv2DBackpropFilter Conv3DBackpropFilter Conv3DBackpropFilterV2", ConvFilterGradFlops, 2,
       "2 * gradient elements * filter spatial size * input channels per group; padding counts",
       "derivative of the direct convolution"},
      {"DepthwiseConv2dNative", DepthwiseConvFlops, 2,
       "2 * output elements * filter height * filter width; padding counts",
       "direct convolution, counted from the definition of the op"},
      {"DepthwiseConv2dNativeBackpropInput", DepthwiseInputGradFlops, 2,
       "2 * gradient elements * filter height * filter width; padding counts",
       "derivative of the direct convolution"},
      {"DepthwiseConv2dNativeBackpropFilter", DepthwiseFilterGradFlops, 2,
       "2 * gradient elements * filter height * filter width; padding counts",
       "derivative of the direct convolution"},
  };
}

std::vector<FlopRow> ElementwiseRows() {
  return {
      {kUnary, PerOutput, 1, "output elements", kElementwise},
      {kBinary, PerOutput, 1, "elements of the broadcast output", kElementwise},
      {"SquaredDifference ClipByValue", PerOutput, 2, "2 * elements of the broadcast output",
       kByDefinition},
      {"AddN AccumulateNV2", AddNFlops, 1, "(inputs - 1) * output elements", kByDefinition},
  };
}

std::vector<FlopRow> DerivativeRows() {
  return {
      {"ReluGrad Relu6Grad LeakyReluGrad EluGrad SeluGrad", PerOutput, 1, "output elements",
       kElementwise},
      {"SqrtGrad", PerOutput, 2, "2 * output elements", "derivative: 0.5 * dy / y"},
      {"SigmoidGrad", PerOutput, 3, "3 * output elements", "derivative: dy * y * (1 - y)"},
      {"TanhGrad", PerOutput, 3, "3 * output elements", "derivative: dy * (1 - y * y)"},
      {"ReciprocalGrad InvGrad", PerOutput, 3, "3 * output elements", "derivative: -dy * y * y"},
      {"RsqrtGrad", PerOutput, 4, "4 * output elements", "derivative: -0.5 * dy * y * y * y"},
      {"SoftplusGrad", PerOutput, 4, "4 * output elements", "derivative: dy / (1 + exp(-x))"},
      {"SoftsignGrad", PerOutput, 4, "4 * output elements", "derivative: dy / (1 + |x|)^2"},
  };
}

// Of a variable: handle, indices, updates; of a tensor the same places.
std::optional<int64_t> ScatterFlops(const FlopOp& op, int64_t factor) {
  return Scaled(op.InputElements(2), factor);
}

std::vector<FlopRow> ReductionRows() {
  return {
      {kReductions, PerInput<0>, 1, "input elements",
       "convention: a reduction is one operation per input element"},
      {"EuclideanNorm L2Loss", PerInput<0>, 2, "2 * input elements: square and add", kByDefinition},
  };
}

std::vector<FlopRow> PoolingRows() {
  return {
      {"AvgPool AvgPool3D MaxPool MaxPool3D MaxPoolWithArgmax", PoolFlops, 1,
       "output elements * window size; padding counts",
       "convention: one operation per element under the window"},
      {"AvgPoolGrad AvgPool3DGrad", AvgPoolGradFlops, 1,
       "gradient elements * window size; padding counts", "derivative of the mean over a window"},
      {"MaxPoolGrad MaxPool3DGrad", PerInput<2>, 1, "gradient elements: one addition each",
       "derivative of the maximum over a window"},
  };
}

std::vector<FlopRow> NormalizationRows() {
  return {
      {"FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3", BatchNormFlops, 1,
       "training 6 per element (mean 1, variance 3, scale and shift 2), inference 2; "
       "work per channel is not counted",
       kByDefinition},
      {"FusedBatchNormGrad FusedBatchNormGradV2 FusedBatchNormGradV3", PerInput<0>, 10,
       "10 per element (normalised input 2, scale gradient 2, offset gradient 1, input gradient 5)",
       "derivative of batch normalisation in training"},
  };
}

std::vector<FlopRow> SoftmaxRows() {
  return {
      {"Softmax", PerInput<0>, 5, "5 per element: maximum, subtract, exp, sum, divide",
       kByDefinition},
      {"LogSoftmax", PerInput<0>, 5,
       "5 per element: maximum, subtract, exp, sum, subtract; the log per row is not counted",
       kByDefinition},
      {"SoftmaxCrossEntropyWithLogits", PerInput<0>, 9,
       "9 per logit: log-softmax 5, times label and sum 2, gradient 2", kByDefinition},
      {"SparseSoftmaxCrossEntropyWithLogits", PerInput<0>, 5,
       "5 per logit: maximum, subtract, exp, sum, divide for the gradient", kByDefinition},
  };
}

std::vector<FlopRow> OptimizerRows() {
  constexpr std::string_view kUpdate = "the update rule in the op's documentation, written out";
  return {
      {"AssignAddVariableOp AssignSubVariableOp", PerInput<1>, 1, "elements of the value",
       kByDefinition},
      {"ResourceApplyGradientDescent", PerInput<2>, 2, "2 * gradient elements", kUpdate},
      {"ResourceApplyMomentum", MomentumFlops, 1, "4 * gradient elements, 6 with use_nesterov",
       kUpdate},
      {"ResourceApplyKerasMomentum", KerasMomentumFlops, 1,
       "4 * gradient elements, 7 with use_nesterov", kUpdate},
      {"ResourceApplyAdam", AdamFlops, 1,
       "12 * gradient elements (moments 7, step 5), 15 with use_nesterov", kUpdate},
      {"ResourceApplyAdaMax", PerInput<8>, 10, "10 * gradient elements", kUpdate},
      {"ResourceApplyAdagrad", PerInput<3>, 6, "6 * gradient elements", kUpdate},
      {"ResourceApplyAdagradV2", PerInput<4>, 7, "7 * gradient elements", kUpdate},
      {"ResourceApplyRMSProp", PerInput<7>, 11, "11 * gradient elements", kUpdate},
  };
}

std::vector<FlopRow> ScatterRows() {
  return {
      {"TensorScatterAdd TensorScatterSub TensorScatterMax TensorScatterMin ResourceScatterAdd "
       "ResourceScatterSub ResourceScatterMul ResourceScatterDiv ResourceScatterMax "
       "ResourceScatterMin ResourceScatterNdAdd ResourceScatterNdSub",
       ScatterFlops, 1, "elements of the updates", kByDefinition},
      {"ScatterNd", PerInput<1>, 1, "elements of the updates", kByDefinition},
      {"Range LinSpace", PerOutput, 2, "2 * output elements: start + i * step", kByDefinition},
  };
}

std::vector<FlopRow> ZeroRows() {
  return {
      {kZero, Zero, 0, "0: moves or describes values, computes none",
       "the op does no arithmetic on values"},
      {kRandomState, Zero, 0, "0: the generator's own bits are not counted",
       "the op does no arithmetic on floating-point numbers"},
      {kTextAndTables, Zero, 0, "0: text and tables", "the op does no arithmetic on numbers"},
  };
}

std::vector<FlopRow> BuildRows() {
  std::vector<FlopRow> rows;
  for (std::vector<FlopRow> part :
       {ContractionRows(), ConvolutionRows(), ElementwiseRows(), DerivativeRows(), ReductionRows(),
        PoolingRows(), NormalizationRows(), SoftmaxRows(), OptimizerRows(), ScatterRows(),
        LinearAlgebraRows(), TransformRows(), SortRows(), RandomRows(), SparseRows(), ImageRows(),
        QuantizationRows(), ZeroRows()}) {
    std::move(part.begin(), part.end(), std::back_inserter(rows));
  }
  return rows;
}

}  // namespace

std::vector<std::string_view> TypesOf(const FlopRow& row) {
  std::vector<std::string_view> types;
  std::string_view rest = row.types;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(' '), rest.size());
    types.push_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return types;
}

std::span<const FlopRow> AllFlopRows() {
  static const std::vector<FlopRow> rows = BuildRows();
  return rows;
}

const FlopRow* FindFlopRow(std::string_view type) {
  static const std::unordered_map<std::string_view, const FlopRow*> by_type = [] {
    std::unordered_map<std::string_view, const FlopRow*> index;
    for (const FlopRow& row : AllFlopRows()) {
      for (const std::string_view name : TypesOf(row)) index.emplace(name, &row);
    }
    return index;
  }();
  const auto it = by_type.find(type);
  return it == by_type.end() ? nullptr : it->second;
}

}  // namespace flowscope
