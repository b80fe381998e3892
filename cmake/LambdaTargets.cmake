# One target for each room of the house. The link line is the dependency rule: a room sees the
# headers of those rooms alone that its target links.
add_library(lambda_options INTERFACE)
target_compile_options(lambda_options INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor
    -Wold-style-cast -Woverloaded-virtual -Werror)
target_include_directories(lambda_options INTERFACE ${CMAKE_SOURCE_DIR})
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(lambda_options INTERFACE -fcoroutines)
endif()
if(LAMBDA_SANITIZE)
    target_compile_options(lambda_options INTERFACE -fsanitize=${LAMBDA_SANITIZE} -fno-omit-frame-pointer)
    target_link_options(lambda_options INTERFACE -fsanitize=${LAMBDA_SANITIZE})
endif()
if(LAMBDA_FUZZ)
    target_compile_options(lambda_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

# Under a sanitizer only what works for each packet is optimised: with UBSan that costs a compiler
# three times as much.
set(lambda_hot_rooms base sabul transfer engine)
function(lambda_compile_fast target)
    if(LAMBDA_SANITIZE AND NOT LAMBDA_FUZZ)
        target_compile_options(${target} PRIVATE -O0)
    endif()
endfunction()

# The standard library's headers are half of what a compiler reads. They are read once for each kind of
# target; not in the debug build, which thereby shows that each header stands alone.
set(lambda_prelude <algorithm> <array> <atomic> <charconv> <chrono> <condition_variable> <cstdio> <deque>
    <filesystem> <fstream> <functional> <map> <memory> <mutex> <optional> <random> <set> <span> <sstream>
    <string> <string_view> <thread> <unordered_map> <unordered_set> <utility> <variant> <vector>)
function(lambda_precompile target kind)
    get_property(owner GLOBAL PROPERTY lambda_prelude_${kind})
    if(owner)
        target_precompile_headers(${target} REUSE_FROM ${owner})
    else()
        target_precompile_headers(${target} PRIVATE ${lambda_prelude} ${ARGN})
        if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
            target_compile_options(${target} PRIVATE -fpch-preprocess)  # ccache asks for it
        endif()
        set_property(GLOBAL PROPERTY lambda_prelude_${kind} ${target})
    endif()
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        # Of a header that was read before it forgets that it is a system's, and tells what it
        # misunderstands of std::string (GCC 12, PR 105329).
        target_compile_options(${target} PRIVATE -Wno-array-bounds -Wno-stringop-overread
                               -Wno-stringop-overflow -Wno-restrict)
    endif()
endfunction()

# lambda_room(NAME LINKS...): the static library lambda_NAME from every .cpp below this folder.
function(lambda_room name)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
    list(FILTER sources EXCLUDE REGEX "/main\\.cpp$")
    if(sources)
        add_library(lambda_${name} STATIC ${sources})
        target_link_libraries(lambda_${name} PUBLIC lambda_options ${ARGN})
        if(name IN_LIST lambda_hot_rooms)
            set(kind hot)
        else()
            set(kind cold)
            lambda_compile_fast(lambda_${name})
        endif()
        if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug" AND NOT LAMBDA_FUZZ)
            lambda_precompile(lambda_${name} ${kind})
        endif()
    else()
        add_library(lambda_${name} INTERFACE)
        target_link_libraries(lambda_${name} INTERFACE lambda_options ${ARGN})
    endif()
endfunction()
