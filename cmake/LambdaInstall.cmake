# `cmake --install`: the programs, systemd's units, bash's completion, and the settings to begin with.
include(GNUInstallDirs)

install(TARGETS lambda-ftp lambda-ftpd RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES README.md CHANGELOG.md LICENSE config/server.yaml config/client.yaml config/replicate.yaml config/replicate.cron
        DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES config/completion.bash RENAME lambda-ftp DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)

# They name the programs by where they are installed.
foreach(unit lambda-ftpd.service lambda-replicate@.service lambda-replicate@.timer)
    file(READ config/${unit} text)
    string(REPLACE /usr/local/bin ${CMAKE_INSTALL_FULL_BINDIR} text "${text}")
    file(WRITE ${CMAKE_BINARY_DIR}/units/${unit} "${text}")
    install(FILES ${CMAKE_BINARY_DIR}/units/${unit} DESTINATION lib/systemd/system)
endforeach()
