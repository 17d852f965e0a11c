# The portable link: the same objects, with LLVM and MLIR from static archives,
# so that the result needs only libc and libm. Target `portable` builds
# <build>/portable/{bin,lib}.

set(REPLAYSSM_PORTABLE_LLVM_COMPONENTS
  core support analysis passes irreader bitreader bitwriter linker target ipo transformutils
  nvptxcodegen nvptxdesc nvptxinfo x86codegen x86desc x86info x86asmparser orcjit mc codegen
  asmparser targetparser frontendopenmp option)

# The distribution builds LLVM as a shared library, so every MLIR archive names
# it in its link interface; a static link has to take it out and name the LLVM
# components itself.
function(replayssm_portable_libraries result)
  get_property(_all GLOBAL PROPERTY MLIR_ALL_LIBS)
  foreach(t ${_all})
    if(TARGET ${t})
      get_target_property(_interface ${t} INTERFACE_LINK_LIBRARIES)
      if(_interface)
        list(FILTER _interface EXCLUDE REGEX "^(\\$<LINK_ONLY:)?(LLVM|MLIR)>?$")
        set_target_properties(${t} PROPERTIES INTERFACE_LINK_LIBRARIES "${_interface}")
      endif()
    endif()
  endforeach()
  find_library(REPLAYSSM_LIBZ libz.a)
  find_library(REPLAYSSM_LIBZSTD libzstd.a)
  foreach(pair "ZLIB::ZLIB;${REPLAYSSM_LIBZ}" "zstd::libzstd_shared;${REPLAYSSM_LIBZSTD}")
    list(GET pair 0 _target)
    list(GET pair 1 _archive)
    if(TARGET ${_target} AND _archive)
      set_target_properties(${_target} PROPERTIES
        IMPORTED_LOCATION ${_archive} IMPORTED_LOCATION_RELEASE ${_archive})
    endif()
  endforeach()
  llvm_map_components_to_libnames(_llvm ${REPLAYSSM_PORTABLE_LLVM_COMPONENTS})
  get_property(_dialects GLOBAL PROPERTY MLIR_DIALECT_LIBS)
  get_property(_conversions GLOBAL PROPERTY MLIR_CONVERSION_LIBS)
  get_property(_translations GLOBAL PROPERTY MLIR_TRANSLATION_LIBS)
  # Only the members that something refers to end up in the result.
  set(${result} ${_dialects} ${_conversions} ${_translations} MLIROptLib MLIRTransforms ${_llvm}
    PARENT_SCOPE)
endfunction()

set(REPLAYSSM_PORTABLE_LINK_OPTIONS
  -static-libstdc++ -static-libgcc -Wl,--gc-sections -Wl,--as-needed -Wl,--strip-all)
