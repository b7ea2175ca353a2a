# Warnings, for our own targets only: users of the library never see these flags.

function(espalier_warnings target)
  # nvcc's generated host code is not pedantic and converts freely, so .cu files get the subset that holds there;
  # their code is mostly headers that .cpp files compile with the full set.
  set(host -Wall -Wextra -Wpedantic -Wconversion -Wshadow)
  set(host_of_nvcc -Wall -Wextra -Wshadow)
  if(ESPALIER_WARNINGS_AS_ERRORS)
    # GCC 13 sees an access out of bounds in fmt 9 where there is none.
    list(APPEND host -Werror $<$<CXX_COMPILER_ID:GNU>:-Wno-error=array-bounds>)
    if(CMAKE_CXX_FLAGS_RELEASE MATCHES "-O1")
      # At -O1, GCC 12 does not see that loops over lanes initialize an array; at -O3 it does.
      list(APPEND host $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
    endif()
    list(APPEND host_of_nvcc -Werror)
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-Werror all-warnings>")
  endif()
  list(JOIN host_of_nvcc "," joined)
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${host}>"
                                           "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=${joined}>")
endfunction()
