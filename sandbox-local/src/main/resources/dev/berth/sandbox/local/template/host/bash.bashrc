# read by interactive shells
[ -z "$PS1" ] && return
shopt -s checkwinsize histappend
PS1='\u@\h:\w\$ '
alias ls='ls --color=auto'
alias grep='grep --color=auto'
alias ll='ls -l'
