// Decompositions and solvers, each for a batch of matrices; and Fourier transforms.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "analyze/flop_parts.h"

namespace flowscope {
namespace {

constexpr std::string_view kBook =
    "leading term as in Golub & Van Loan, Matrix Computations: lower orders are not counted";

// A batch of m x n matrices, as floating-point numbers: the formulas have fractions of cubes.
struct Matrices {
  double batch = 1;
  double m = 0;
  double n = 0;
};

std::optional<Matrices> MatricesOf(const std::optional<Dims>& dims) {
  if (!dims || dims->size() < 2) return std::nullopt;
  Matrices matrices;
  for (size_t i = 0; i + 2 < dims->size(); ++i) {
    matrices.batch *= static_cast<double>((*dims)[i]);
  }
  matrices.m = static_cast<double>((*dims)[dims->size() - 2]);
  matrices.n = static_cast<double>(dims->back());
  const bool known = std::all_of(dims->begin(), dims->end(), [](int64_t d) { return d >= 0; });
  return known ? std::optional(matrices) : std::nullopt;
}

// nullopt where the count does not fit.
std::optional<int64_t> Whole(double count) {
  const bool fits = count >= 0 && count < static_cast<double>(std::numeric_limits<int64_t>::max());
  return fits ? std::optional(static_cast<int64_t>(std::llround(count))) : std::nullopt;
}

// factor * n^3 / 3 for each of the square matrices in the first input.
std::optional<int64_t> SquareMatrixFlops(const FlopOp& op, int64_t factor) {
  const std::optional<Dims> dims = op.InputDims(0);
  if (!dims || dims->size() < 2) return std::nullopt;
  std::vector<int64_t> factors(dims->begin(), dims->end());
  factors.push_back(dims->back());
  factors.push_back(factor);
  const std::optional<int64_t> thrice = CheckedProduct(factors);
  return thrice ? std::optional(*thrice / 3) : std::nullopt;
}

// The factorisation, then two triangular solves for each right-hand side; factor 0: one solve.
std::optional<int64_t> SolveFlops(const FlopOp& op, int64_t factor) {
  const std::optional<int64_t> factorise = SquareMatrixFlops(op, factor);
  const std::optional<Dims> dims = op.InputDims(0);
  const std::optional<int64_t> right = op.InputElements(1);
  if (!factorise || !right) return std::nullopt;
  const std::array<int64_t, 3> factors = {*right, dims->back(), factor == 0 ? 1 : 2};
  return Sum(factorise, CheckedProduct(factors));
}

std::optional<int64_t> QrFlops(const FlopOp& op, int64_t) {
  const std::optional<Matrices> a = MatricesOf(op.InputDims(0));
  if (!a) return std::nullopt;
  const double p = std::max(a->m, a->n);
  const double q = std::min(a->m, a->n);
  const double reduce = 2 * q * q * (p - q / 3);
  const bool full = op.BoolAttr("full_matrices", false) && a->m > a->n;
  const double form =
      full ? 4 * (a->m * a->m * q - a->m * q * q + q * q * q / 3) : 2 * q * q * (a->m - q / 3);
  return Whole(a->batch * (reduce + form));
}

std::optional<int64_t> SvdFlops(const FlopOp& op, int64_t) {
  const std::optional<Matrices> a = MatricesOf(op.InputDims(0));
  if (!a) return std::nullopt;
  const double p = std::max(a->m, a->n);
  const double q = std::min(a->m, a->n);
  double each = 14 * p * q * q + 8 * q * q * q;
  if (!op.BoolAttr("compute_uv", true)) {
    each = 4 * p * q * q - 4 * q * q * q / 3;
  } else if (op.BoolAttr("full_matrices", false)) {
    each = 4 * p * p * q + 8 * p * q * q + 9 * q * q * q;
  }
  return Whole(a->batch * each);
}

// Thirds of n^3: `factor` with the vectors, less without them.
std::optional<int64_t> EigFlops(const FlopOp& op, int64_t factor) {
  const bool symmetric = factor == 27;
  const int64_t values_alone = symmetric ? 4 : 30;
  return SquareMatrixFlops(op, op.BoolAttr("compute_v", true) ? factor : values_alone);
}

std::optional<int64_t> TridiagonalFlops(const FlopOp& op, int64_t) {
  return Sum(op.InputElements(0), Scaled(op.InputElements(1), 5));
}

// The last `rank` dimensions are transformed.
std::optional<int64_t> FourierFlops(const std::optional<Dims>& dims, int64_t rank, double factor) {
  if (!dims || static_cast<int64_t>(dims->size()) < rank) return std::nullopt;
  double all = 1;
  double each = 1;
  for (size_t i = 0; i < dims->size(); ++i) {
    if ((*dims)[i] < 0) return std::nullopt;
    all *= static_cast<double>((*dims)[i]);
    if (static_cast<int64_t>(i) >= static_cast<int64_t>(dims->size()) - rank) {
      each *= static_cast<double>((*dims)[i]);
    }
  }
  return each < 1 ? 0 : Whole(factor * all * std::log2(each));
}

std::optional<int64_t> FftFlops(const FlopOp& op, int64_t rank) {
  return FourierFlops(op.OutputDims(0), rank, 5);
}

std::optional<int64_t> InverseRealFftFlops(const FlopOp& op, int64_t rank) {
  return FourierFlops(op.OutputDims(0), rank, 2.5);
}

// The result has n / 2 + 1 numbers. Where the input was cut or padded to another n, an even one is
// taken.
std::optional<int64_t> RealFftFlops(const FlopOp& op, int64_t rank) {
  std::optional<Dims> dims = op.OutputDims(0);
  const std::optional<Dims> given = op.InputDims(0);
  if (!dims || dims->empty() || !given || given->empty()) return std::nullopt;
  const bool as_given = given->back() / 2 + 1 == dims->back();
  dims->back() = as_given ? given->back() : 2 * (dims->back() - 1);
  return FourierFlops(dims, rank, 2.5);
}

}  // namespace

std::vector<FlopRow> LinearAlgebraRows() {
  return {
      {"Cholesky", SquareMatrixFlops, 1, "n^3 / 3 for each matrix", kBook},
      {"Lu MatrixDeterminant LogMatrixDeterminant", SquareMatrixFlops, 2,
       "2 n^3 / 3 for each matrix", kBook},
      {"MatrixInverse", SquareMatrixFlops, 6, "2 n^3 for each matrix", kBook},
      {"MatrixSolve", SolveFlops, 2, "2 n^3 / 3 + 2 n^2 m for each matrix, m right-hand sides",
       kBook},
      {"MatrixTriangularSolve", SolveFlops, 0, "n^2 m for each matrix, m right-hand sides", kBook},
      {"Qr", QrFlops, 1,
       "Householder, m >= n: R 2 n^2 (m - n/3), Q as much; with full_matrices Q is "
       "4 (m^2 n - m n^2 + n^3 / 3)",
       kBook},
      {"Svd", SvdFlops, 1,
       "Golub-Reinsch, m >= n: values 4 m n^2 - 4 n^3 / 3, with U and V 14 m n^2 + 8 n^3, with "
       "full_matrices 4 m^2 n + 8 m n^2 + 9 n^3",
       kBook},
      {"SelfAdjointEigV2", EigFlops, 27, "symmetric QR: values 4 n^3 / 3, with vectors 9 n^3",
       kBook},
      {"Eig", EigFlops, 75, "QR algorithm: values 10 n^3, with vectors 25 n^3", kBook},
      {"MatrixSquareRoot", SquareMatrixFlops, 85, "Schur method: 28 n^3 + n^3 / 3",
       "Higham, Functions of Matrices, chapter 6"},
      {"TridiagonalSolve", TridiagonalFlops, 1,
       "3 n + 5 n m for each matrix, m right-hand sides; pivoting is not counted",
       "Thomas algorithm, counted from its definition"},
      {"Cross", PerOutput, 3, "3 * output elements: two products and a difference", kByDefinition},
  };
}

std::vector<FlopRow> TransformRows() {
  constexpr std::string_view kFftw =
      "convention of the FFTW benchmarks (Frigo & Johnson, The Design and Implementation of "
      "FFTW3): "
      "operations on real numbers, whatever algorithm runs";
  constexpr std::string_view kComplex = "5 N log2 N for each transform of N numbers";
  constexpr std::string_view kReal = "2.5 N log2 N for each transform of N real numbers";
  return {
      {"FFT IFFT", FftFlops, 1, kComplex, kFftw},
      {"FFT2D IFFT2D", FftFlops, 2, kComplex, kFftw},
      {"FFT3D IFFT3D", FftFlops, 3, kComplex, kFftw},
      {"RFFT", RealFftFlops, 1, kReal, kFftw},
      {"RFFT2D", RealFftFlops, 2, kReal, kFftw},
      {"RFFT3D", RealFftFlops, 3, kReal, kFftw},
      {"IRFFT", InverseRealFftFlops, 1, kReal, kFftw},
      {"IRFFT2D", InverseRealFftFlops, 2, kReal, kFftw},
      {"IRFFT3D", InverseRealFftFlops, 3, kReal, kFftw},
  };
}

}  // namespace flowscope
