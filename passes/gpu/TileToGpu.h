//===- TileToGpu.h - What the lowerings of replay-tile-to-gpu share -*- C++ -*-===//
#pragma once

#include "dialects/Tile/Layout.h"
#include "passes/Passes.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/MapVector.h"

namespace replayssm::gpulower {

/// A factor of one dimension that a thread owns: digit * weight is its part of
/// the coordinate.
struct ThreadFactor {
  tile::Owner owner;
  int64_t size, stride, weight;
  bool operator==(const ThreadFactor &) const = default;
};
using ThreadFactors = llvm::SmallVector<ThreadFactor, 4>;

/// The layout of one tile with the questions that lowerings ask of it.
struct TileInfo {
  mlir::RankedTensorType type;
  tile::Layout layout;
  llvm::DenseMap<std::pair<int64_t, int64_t>, int64_t> regOf;

  explicit TileInfo(mlir::Value tile);
  int64_t shape(unsigned dim) const { return type.getDimSize(dim); }
  int64_t numRegs() const { return layout.numRegs(); }
  mlir::Type element() const { return type.getElementType(); }
  mlir::VectorType vectorType() const { return mlir::VectorType::get({numRegs()}, element()); }
  std::pair<int64_t, int64_t> coords(int64_t reg) const {
    return {layout.regCoord(0, reg), layout.regCoord(1, reg)};
  }
  /// The register at these register coordinates, or none.
  std::optional<int64_t> find(int64_t row, int64_t col) const;
  ThreadFactors threads(unsigned dim) const;
  int64_t maxThreadCoord(unsigned dim) const;
  /// Coordinates of the registers along `dim`, ascending.
  llvm::SmallVector<int64_t> regCoords(unsigned dim) const;
};

/// One gpu.func being lowered: builder, thread ids, markers and sites. Tile
/// values are reached through casts to vectors until every op is lowered.
class Lowering {
public:
  Lowering(mlir::gpu::GPUFuncOp func, mlir::SymbolTable &symbols);

  mlir::ImplicitLocOpBuilder b;
  mlir::gpu::GPUFuncOp func;

  /// Starts to lower `op`: its location, insertion point and site.
  void begin(mlir::Operation *op);

  mlir::Value i32(int64_t value);
  mlir::Value trueValue();
  mlir::Value tid() const { return tid_; }
  int64_t numWarps() const { return numWarps_; }
  mlir::Value lane();
  mlir::Value warp();
  /// (owner id / stride) mod size, i32.
  mlir::Value digit(tile::Owner owner, int64_t size, int64_t stride);
  /// The thread's part of the coordinate along `dim`, i32; null when zero.
  mlir::Value threadCoord(const TileInfo &tile, unsigned dim);
  /// True in one of the threads that hold a copy of each element; null when every thread is one.
  mlir::Value firstCopy(const TileInfo &tile);

  mlir::Value vectorOf(mlir::Value tile);
  llvm::SmallVector<mlir::Value> regsOf(mlir::Value tile);
  void replaceTile(mlir::Value tile, mlir::Value vector);
  void replaceTile(mlir::Value tile, llvm::ArrayRef<mlir::Value> regs);

  mlir::Value byteOffset(mlir::Value pointer, int64_t bytes);
  /// Address of byte `offset` of the block's shared memory, made at the entry.
  mlir::Value shared(int64_t offset);
  /// The shared pointer of a tile.alloc; null after an error.
  mlir::Value sharedOf(mlir::Value smem);

  /// Calls marker `rssm.<name>`; `siteId` says whether it takes the site of the current op.
  mlir::Value call(llvm::StringRef name, mlir::Type result, mlir::ValueRange args, bool siteId = true);
  static std::string typeName(mlir::Type type);

  /// The index of a text among the manifest's sites.
  mlir::Value textId(llvm::StringRef text);

  /// Writes `sites` into the function's manifest.
  void finish();

private:
  mlir::LLVM::LLVMFuncOp declare(llvm::StringRef name, mlir::Type result, mlir::TypeRange args);

  mlir::SymbolTable &symbols_;
  int64_t numWarps_ = 1;
  mlir::Operation *anchor_ = nullptr; ///< What stands at the entry goes before this op; erased at the end.
  mlir::Value tid_, lane_, warp_;
  llvm::DenseMap<int64_t, mlir::Value> shared_;
  llvm::MapVector<mlir::StringAttr, int64_t> sites_;
  int64_t site_ = 0;
  friend class EntryScope;
};

/// While alive, ops are built at the entry of the function.
class EntryScope {
public:
  explicit EntryScope(Lowering &lowering);

private:
  mlir::OpBuilder::InsertionGuard guard_;
};

llvm::LogicalResult lowerLoad(Lowering &lowering, tile::LoadOp op);
llvm::LogicalResult lowerStore(Lowering &lowering, tile::StoreOp op);
llvm::LogicalResult lowerScalarLoad(Lowering &lowering, mlir::LLVM::LoadOp op);
llvm::LogicalResult lowerScalarStore(Lowering &lowering, mlir::LLVM::StoreOp op);
llvm::LogicalResult lowerDot(Lowering &lowering, tile::DotOp op);
/// The same on tensor cores.
llvm::LogicalResult lowerMma(Lowering &lowering, tile::DotOp op);
llvm::LogicalResult lowerScan(Lowering &lowering, tile::ScanOp op);
llvm::LogicalResult lowerBroadcast(Lowering &lowering, tile::BroadcastOp op);
llvm::LogicalResult lowerIota(Lowering &lowering, tile::IotaOp op);
llvm::LogicalResult lowerConvert(Lowering &lowering, tile::ConvertOp op);
llvm::LogicalResult lowerCopy(Lowering &lowering, tile::CopyOp op);
llvm::LogicalResult lowerWait(Lowering &lowering, tile::WaitOp op);
llvm::LogicalResult lowerExpect(Lowering &lowering, tile::ExpectOp op);
llvm::LogicalResult lowerBarrier(Lowering &lowering, tile::BarrierOp op);
/// Initialises every mbarrier of the function at its entry.
llvm::LogicalResult initMbarriers(Lowering &lowering);
/// Turns the remaining tensors (elementwise ops, constants, control flow) into vectors.
llvm::LogicalResult retypeTiles(mlir::gpu::GPUFuncOp func);

} // namespace replayssm::gpulower
