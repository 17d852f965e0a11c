# Targets of this project.
#   replayssm_objects(<name> SOURCES ... [DEPENDS ...] [PLAIN])
# adds an object library that becomes part of libreplayssm. All but PLAIN ones
# (no LLVM, no MLIR) share one precompiled header.

set(REPLAYSSM_LLVM_COMPILE_DEFINITIONS NDEBUG)

# A switch over an enum has a case for each of its values: a new one is an error
# at every place that decides by it. Headers of others are SYSTEM.
add_compile_options(-Werror=switch -Werror=switch-enum)

# One header for every file that includes MLIR.
file(WRITE ${CMAKE_BINARY_DIR}/pch.cpp "// Carrier of the precompiled header.\n")
add_library(replayssm_pch OBJECT ${CMAKE_BINARY_DIR}/pch.cpp)
target_include_directories(replayssm_pch SYSTEM PUBLIC ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
target_compile_definitions(replayssm_pch PUBLIC ${REPLAYSSM_LLVM_COMPILE_DEFINITIONS})
target_compile_options(replayssm_pch PUBLIC -fno-exceptions -Wall -Wextra -Wno-unused-parameter)
target_precompile_headers(replayssm_pch PRIVATE ${CMAKE_SOURCE_DIR}/cmake/pch.h)
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  target_compile_options(replayssm_pch PUBLIC -fpch-instantiate-templates)
endif()

set_property(GLOBAL PROPERTY REPLAYSSM_OBJECTS "")

function(replayssm_objects name)
  cmake_parse_arguments(ARG "PLAIN" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(${name} OBJECT ${ARG_SOURCES})
  if(ARG_PLAIN)
    target_compile_options(${name} PRIVATE -fno-exceptions -Wall -Wextra -Wno-unused-parameter)
  else()
    target_include_directories(${name} SYSTEM PRIVATE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
    target_compile_definitions(${name} PRIVATE ${REPLAYSSM_LLVM_COMPILE_DEFINITIONS})
    target_compile_options(${name} PRIVATE -fno-exceptions -Wall -Wextra -Wno-unused-parameter)
    if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
      target_compile_options(${name} PRIVATE -fpch-instantiate-templates)
    endif()
    target_precompile_headers(${name} REUSE_FROM replayssm_pch)
    add_dependencies(${name} replayssm_tablegen)
  endif()
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  set_property(GLOBAL APPEND PROPERTY REPLAYSSM_OBJECTS ${name})
endfunction()

# Generated headers of every dialect and pass file hang on this one target.
add_custom_target(replayssm_tablegen)
