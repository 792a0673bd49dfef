#include "analyze/flop_formulas.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "analyze/cost.h"
#include "analyze/testing_attrs.h"
#include "trace/testing.h"

namespace flowscope {
namespace {

// One op on inputs of the given shapes; an empty optional is the answer for an op without formula.
struct FlopCase {
  std::string type;
  std::vector<Dims> inputs;
  Dims output;
  std::string attrs;
  std::optional<int64_t> flops;
};

std::optional<int64_t> FlopsOf(const FlopCase& flop_case) {
  TraceMaker m;
  std::vector<TensorId> inputs;
  for (const Dims& dims : flop_case.inputs) inputs.push_back(m.Constant("c", dims));
  m.Op(flop_case.type, inputs, {.dims = flop_case.output, .attrs = flop_case.attrs});
  const OpId op = m.last_op();
  return OpFlops(*m.Finish(), op);
}

class FlopFormulasTest : public testing::TestWithParam<FlopCase> {};

TEST_P(FlopFormulasTest, CountsAsByHand) { EXPECT_EQ(FlopsOf(GetParam()), GetParam().flops); }

std::string NameOf(const testing::TestParamInfo<FlopCase>& info) {
  return info.param.type + "_" + std::to_string(info.index);
}

INSTANTIATE_TEST_SUITE_P(
    ScatterAndLinearAlgebra, FlopFormulasTest,
    testing::Values(FlopCase{"TensorScatterAdd", {{8, 3}, {2, 1}, {2, 3}}, {8, 3}, "", 6},
                    FlopCase{"ScatterNd", {{2, 1}, {2, 3}, {2}}, {8, 3}, "", 6},
                    FlopCase{"TensorScatterUpdate", {{8, 3}, {2, 1}, {2, 3}}, {8, 3}, "", 0},
                    FlopCase{"Range", {{}, {}, {}}, {5}, "", 10},
                    FlopCase{"ResizeBilinear", {{1, 2, 2, 3}, {2}}, {1, 4, 4, 3}, "", 432},
                    FlopCase{"Cholesky", {{4, 3, 3}}, {4, 3, 3}, "", 36},
                    FlopCase{"MatrixInverse", {{3, 3}}, {3, 3}, "", 54},
                    FlopCase{"MatrixSolve", {{3, 3}, {3, 2}}, {3, 2}, "", 54},
                    FlopCase{"MatrixTriangularSolve", {{3, 3}, {3, 2}}, {3, 2}, "", 18},
                    FlopCase{"Cholesky", {{3}}, {3}, "", std::nullopt}),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    Decompositions, FlopFormulasTest,
    testing::Values(
        FlopCase{"Lu", {{3, 3}}, {3, 3}, "", 18},
        // 3 x 3: 2 * 9 * (3 - 1) for R, as much for Q.
        FlopCase{"Qr", {{3, 3}}, {3, 3}, "", 72},
        // 6 x 3: 2 * 9 * (6 - 1) = 90 twice; a full Q takes 4 * (108 - 54 + 9).
        FlopCase{"Qr", {{2, 6, 3}}, {2, 6, 3}, "", 360},
        FlopCase{"Qr", {{6, 3}}, {6, 6}, AttrList().Bool("full_matrices", true), 342},
        FlopCase{"Qr", {{3, 6}}, {3, 3}, "", 90 + 36},
        FlopCase{"Svd", {{6, 3}}, {3}, AttrList().Bool("compute_uv", false), 216 - 36},
        FlopCase{"Svd", {{3, 6}}, {3}, "", 14 * 54 + 8 * 27},
        FlopCase{"Svd", {{6, 3}}, {3}, AttrList().Bool("full_matrices", true), 432 + 432 + 9 * 27},
        FlopCase{"SelfAdjointEigV2", {{2, 3, 3}}, {2, 3}, "", 486},
        FlopCase{"SelfAdjointEigV2", {{3, 3}}, {3}, AttrList().Bool("compute_v", false), 36},
        FlopCase{"Eig", {{3, 3}}, {3}, "", 675},
        FlopCase{"Eig", {{3, 3}}, {3}, AttrList().Bool("compute_v", false), 270},
        FlopCase{"MatrixSquareRoot", {{3, 3}}, {3, 3}, "", 765},
        FlopCase{"TridiagonalSolve", {{3, 4}, {4, 2}}, {4, 2}, "", 12 + 40},
        FlopCase{"Cross", {{5, 3}, {5, 3}}, {5, 3}, "", 45},
        FlopCase{"Qr", {{3}}, {3}, "", std::nullopt}, FlopCase{"Svd", {{0, 3}}, {0}, "", 0}),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    Fourier, FlopFormulasTest,
    testing::Values(FlopCase{"FFT", {{2, 8}}, {2, 8}, "", 5 * 2 * 8 * 3},
                    FlopCase{"IFFT2D", {{3, 4, 4}}, {3, 4, 4}, "", 5 * 3 * 16 * 4},
                    FlopCase{"RFFT", {{8}, {1}}, {5}, "", 60},
                    FlopCase{"RFFT", {{3}, {1}}, {5}, "", 60},  // padded to 8
                    FlopCase{"RFFT2D", {{4, 4}, {2}}, {4, 3}, "", 160},
                    FlopCase{"IRFFT", {{5}, {1}}, {8}, "", 60}, FlopCase{"FFT", {{1}}, {1}, "", 0},
                    FlopCase{"FFT", {{0, 8}}, {0, 8}, "", 0},
                    FlopCase{"FFT3D", {{4, 4}}, {4, 4}, "", std::nullopt}),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    SortRandomSparse, FlopFormulasTest,
    testing::Values(
        FlopCase{"TopKV2", {{3, 10}, {}}, {3, 4}, "", 60},
        FlopCase{"TopKV2", {{3, 10}, {}}, {3, 1}, "", 30},
        FlopCase{"LowerBound", {{2, 7}, {2, 5}}, {2, 5}, "", 30},
        FlopCase{"Bucketize", {{6}}, {6}, AttrList().Floats("boundaries", {.1F, .2F, .3F}), 12},
        FlopCase{"Bucketize", {{6}}, {6}, "", std::nullopt},
        FlopCase{"DenseBincount", {{6}, {}, {0}}, {3}, "", 6},
        FlopCase{"Unique", {{6}}, {3}, "", 6},
        FlopCase{"StatelessRandomUniformV2", {{2}, {1}, {2}, {}}, {4, 5}, "", 20},
        FlopCase{"RandomStandardNormal", {{2}}, {4, 5}, "", 100},
        FlopCase{"StatelessRandomGetKeyCounter", {{2}}, {1}, "", 0},
        FlopCase{"Multinomial", {{2, 8}, {}}, {2, 3}, "", 64 + 30},
        FlopCase{"RandomGamma", {{1}, {2}}, {4}, "", std::nullopt},
        FlopCase{"SparseTensorDenseMatMul", {{5, 2}, {5}, {2}, {4, 3}}, {6, 3}, "", 30},
        FlopCase{"SparseSegmentSum", {{8, 3}, {4}, {4}}, {2, 3}, "", 12}),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    Images, FlopFormulasTest,
    testing::Values(
        FlopCase{"ResizeNearestNeighbor", {{1, 2, 2, 3}, {2}}, {1, 4, 4, 3}, "", 0},
        FlopCase{"ResizeBicubic", {{1, 2, 2, 3}, {2}}, {1, 4, 4, 3}, "", 35 * 48},
        FlopCase{"ImageProjectiveTransformV3",
                 {{1, 4, 4, 3}, {1, 8}, {2}, {}},
                 {1, 4, 4, 3},
                 AttrList().String("interpolation", "BILINEAR"),
                 14 * 16 + 9 * 48},
        FlopCase{"ImageProjectiveTransformV3",
                 {{1, 4, 4, 3}, {1, 8}, {2}, {}},
                 {1, 4, 4, 3},
                 AttrList().String("interpolation", "NEAREST"),
                 14 * 16},
        FlopCase{"RGBToHSV", {{2, 3}}, {2, 3}, "", 22},
        FlopCase{"LRN", {{1, 2, 2, 3}}, {1, 2, 2, 3}, AttrList().Int("depth_radius", 2), 12 * 14},
        FlopCase{"LRN", {{1, 2, 2, 3}}, {1, 2, 2, 3}, "", 12 * 26},
        FlopCase{"Dilation2D", {{1, 4, 4, 3}, {2, 2, 3}}, {1, 4, 4, 3}, "", 384},
        FlopCase{"FakeQuantWithMinMaxVars", {{4}, {}, {}}, {4}, "", 28},
        FlopCase{"StringLower", {{4}}, {4}, "", 0}),
    NameOf);

// (2 x 3) times (3 x 5): 30 products and sums of 2 operations.
INSTANTIATE_TEST_SUITE_P(
    Products, FlopFormulasTest,
    testing::Values(
        FlopCase{"MatMul", {{2, 3}, {3, 5}}, {2, 5}, "", 60},
        FlopCase{"MatMul", {{3, 2}, {3, 5}}, {2, 5}, AttrList().Bool("transpose_a", true), 60},
        FlopCase{"MatMul", {{2, 3}, {5, 3}}, {2, 5}, AttrList().Bool("transpose_b", true), 60},
        FlopCase{"BatchMatMulV2", {{7, 2, 3}, {7, 3, 5}}, {7, 2, 5}, "", 420},
        FlopCase{"BatchMatMulV2", {{7, 1, 2, 3}, {4, 3, 5}}, {7, 4, 2, 5}, "", 1680},
        FlopCase{"BatchMatMulV3",
                 {{7, 3, 2}, {7, 3, 5}},
                 {7, 2, 5},
                 AttrList().Bool("adj_x", true),
                 420},
        FlopCase{"MatMul", {{0, 3}, {3, 5}}, {0, 5}, "", 0}),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    Einsum, FlopFormulasTest,
    testing::Values(
        FlopCase{
            "Einsum", {{2, 3}, {3, 5}}, {2, 5}, AttrList().String("equation", "ab,bc->ac"), 60},
        FlopCase{"Einsum",
                 {{2, 4, 3, 8}, {2, 6, 3, 8}},
                 {2, 3, 4, 6},
                 AttrList().String("equation", "aecd, abcd -> acbe"),
                 2 * 2 * 4 * 3 * 8 * 6},
        FlopCase{"Einsum", {{3}, {4}}, {3, 4}, AttrList().String("equation", "a,b->ab"), 12},
        FlopCase{"Einsum", {{3, 4}}, {4, 3}, AttrList().String("equation", "ab->ba"), 0},
        FlopCase{"Einsum", {{3, 4}}, {3}, AttrList().String("equation", "ab->a"), 12},
        FlopCase{"Einsum", {{3, 3}}, {}, AttrList().String("equation", "aa->"), 3},
        FlopCase{"Einsum",
                 {{7, 1, 2, 3}, {4, 3, 5}},
                 {7, 4, 2, 5},
                 AttrList().String("equation", "...ab,...bc->...ac"),
                 2 * 7 * 4 * 2 * 3 * 5},
        FlopCase{
            "Einsum", {{2, 3}, {2, 3}}, {3}, AttrList().String("equation", "...a,...a->a"), 12},
        FlopCase{
            "Einsum", {{2}, {2}, {2}}, {}, AttrList().String("equation", "a,a,a->"), std::nullopt},
        FlopCase{
            "Einsum", {{2, 3}, {4}}, {2}, AttrList().String("equation", "ab,b->a"), std::nullopt},
        FlopCase{"Einsum", {{2, 3}, {3, 5}}, {2, 5}, "", std::nullopt}),
    NameOf);

// A 3 x 3 filter over 2 channels, 5 filters, on a 4 x 4 result: 4*4*5 outputs of 18 multiply-adds.
INSTANTIATE_TEST_SUITE_P(
    Convolutions, FlopFormulasTest,
    testing::Values(
        FlopCase{"Conv2D", {{1, 4, 4, 2}, {3, 3, 2, 5}}, {1, 4, 4, 5}, "", 2880},
        FlopCase{"Conv2D", {{1, 4, 4, 6}, {3, 3, 2, 6}}, {1, 4, 4, 6}, "", 3456},
        FlopCase{"Conv3D", {{1, 4, 4, 4, 2}, {3, 3, 3, 2, 5}}, {1, 2, 2, 2, 5}, "", 4320},
        FlopCase{"DepthwiseConv2dNative", {{1, 4, 4, 2}, {3, 3, 2, 1}}, {1, 4, 4, 2}, "", 576},
        FlopCase{"Conv2DBackpropInput", {{4}, {3, 3, 2, 5}, {1, 4, 4, 5}}, {1, 4, 4, 2}, "", 2880},
        FlopCase{"Conv2DBackpropFilter", {{1, 4, 4, 2}, {4}, {1, 4, 4, 5}}, {3, 3, 2, 5}, "", 2880},
        FlopCase{"DepthwiseConv2dNativeBackpropInput",
                 {{4}, {3, 3, 2, 1}, {1, 4, 4, 2}},
                 {1, 4, 4, 2},
                 "",
                 576},
        FlopCase{"DepthwiseConv2dNativeBackpropFilter",
                 {{1, 4, 4, 2}, {4}, {1, 4, 4, 2}},
                 {3, 3, 2, 1},
                 "",
                 576}),
    NameOf);

INSTANTIATE_TEST_SUITE_P(Elementwise, FlopFormulasTest,
                         testing::Values(FlopCase{"Relu", {{2, 3}}, {2, 3}, "", 6},
                                         FlopCase{"Exp", {{2, 3}}, {2, 3}, "", 6},
                                         FlopCase{"AddV2", {{2, 1}, {1, 3}}, {2, 3}, "", 6},
                                         FlopCase{
                                             "SquaredDifference", {{2, 3}, {3}}, {2, 3}, "", 12},
                                         FlopCase{"BiasAdd", {{2, 3}, {3}}, {2, 3}, "", 6},
                                         FlopCase{"SelectV2", {{2, 3}, {}, {}}, {2, 3}, "", 6},
                                         FlopCase{"AddN", {{4}, {4}, {4}}, {4}, "", 8},
                                         FlopCase{"SigmoidGrad", {{4}, {4}}, {4}, "", 12},
                                         FlopCase{"Relu", {{}}, {}, "", 1}),
                         NameOf);

INSTANTIATE_TEST_SUITE_P(
    Reductions, FlopFormulasTest,
    testing::Values(
        FlopCase{"Sum", {{2, 3}, {1}}, {2}, "", 6}, FlopCase{"Mean", {{2, 3}, {1}}, {2}, "", 6},
        FlopCase{"L2Loss", {{2, 3}}, {}, "", 12}, FlopCase{"Softmax", {{2, 3}}, {2, 3}, "", 30},
        FlopCase{
            "MaxPool", {{1, 4, 4, 2}}, {1, 2, 2, 2}, AttrList().Ints("ksize", {1, 2, 2, 1}), 32},
        FlopCase{"AvgPoolGrad",
                 {{4}, {1, 2, 2, 2}},
                 {1, 4, 4, 2},
                 AttrList().Ints("ksize", {1, 2, 2, 1}),
                 32},
        FlopCase{"MaxPool", {{1, 4, 4, 2}}, {1, 2, 2, 2}, "", std::nullopt},
        FlopCase{"FusedBatchNormV3",
                 {{2, 3}, {3}, {3}, {3}, {3}},
                 {2, 3},
                 AttrList().Bool("is_training", false),
                 12},
        FlopCase{"FusedBatchNormV3", {{2, 3}, {3}, {3}, {3}, {3}}, {2, 3}, "", 36}),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    Others, FlopFormulasTest,
    testing::Values(FlopCase{"Reshape", {{2, 3}, {1}}, {6}, "", 0},
                    FlopCase{"ReadVariableOp", {{}}, {2, 3}, "", 0},
                    FlopCase{"ResourceApplyGradientDescent", {{}, {}, {7}}, {}, "", 14},
                    FlopCase{"AssignAddVariableOp", {{}, {7}}, {}, "", 7},
                    FlopCase{"RandomPoissonV2", {{1}, {}}, {3}, "", std::nullopt},
                    FlopCase{"MyOp", {{7}}, {7}, "", std::nullopt}),
    NameOf);

TEST(FlopFormulasTest, AnUnknownShapeHasNoAnswer) {
  TraceMaker m;
  const TensorId x = m.Input("x", {2, 3});
  const TensorId y = m.Op("Relu", {x});
  m.tables().tensors[y].shape_known = false;
  const OpId op = m.last_op();
  EXPECT_EQ(OpFlops(*m.Finish(), op), std::nullopt);
}

TEST(FlopFormulasTest, AFailedOpHasNoAnswer) {
  TraceMaker m;
  m.Op("Relu", {m.Input("x", {2})}, {.error = "out of memory"});
  const OpId op = m.last_op();
  EXPECT_EQ(OpFlops(*m.Finish(), op), std::nullopt);
}

TEST(CheckedProductTest, RefusesOverflowAndNegativeFactors) {
  const int64_t big = int64_t{1} << 40;
  EXPECT_EQ(CheckedProduct(std::vector<int64_t>{}), 1);
  EXPECT_EQ(CheckedProduct(std::vector<int64_t>{3, 4}), 12);
  EXPECT_EQ(CheckedProduct(std::vector<int64_t>{big, 4}), int64_t{1} << 42);
  EXPECT_EQ(CheckedProduct(std::vector<int64_t>{big, big}), std::nullopt);
  EXPECT_EQ(CheckedProduct(std::vector<int64_t>{big, 0, big}), std::nullopt);
  EXPECT_EQ(CheckedProduct(std::vector<int64_t>{0, big}), 0);
  EXPECT_EQ(CheckedProduct(std::vector<int64_t>{3, -1}), std::nullopt);
}

TEST(FlopFormulasTest, EveryFormulaSaysWhatItCountsAndWhereItComesFrom) {
  const std::vector<FlopFormula> formulas = FlopFormulas();
  EXPECT_GT(formulas.size(), 100u);
  for (size_t i = 0; i < formulas.size(); ++i) {
    EXPECT_FALSE(formulas[i].text.empty()) << formulas[i].type;
    EXPECT_FALSE(formulas[i].source.empty()) << formulas[i].type;
    if (i == 0) continue;
    EXPECT_LT(formulas[i - 1].type, formulas[i].type) << "listed twice";
  }
}

}  // namespace
}  // namespace flowscope
