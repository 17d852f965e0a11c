//===- ReplayDialect.h - The replay dialect ------------------------*- C++ -*-===//
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Replay/ReplayDialect.h.inc"
#include "dialects/Replay/ReplayEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Replay/ReplayAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Replay/ReplayTypes.h.inc"

#define GET_OP_CLASSES
#include "dialects/Replay/ReplayOps.h.inc"
