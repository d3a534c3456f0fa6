# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# Completion of hutch for bash: verbs, options, names of VMs, ids of processes.
# What there is to complete the program itself says, so that this file is never
# behind it.

# Options of a verb, or of hutch itself, as its help lists them.
_hutch_options() {
	"$1" help ${2:+"$2"} 2>/dev/null |
		sed -n 's/^  \(-.,\)\{0,1\} *\(--[a-z-]*\).*/\2/p'
}

_hutch_verbs() {
	"$1" help 2>/dev/null | sed -n '/^Verbs:/,/^$/s/^  \([a-z]*\) .*/\1/p'
}

# Whether WORD, an option of VERB, takes the word behind it as its value.
_hutch_takes_value() {
	local word=$3

	case $word in
	--*=* | -- | -) return 1 ;;
	--*) ;;
	-*) word=-${word: -1} ;;
	*) return 1 ;;
	esac
	"$1" help "$2" 2>/dev/null |
		grep -qE -- "^  (-.,)? *$word [A-Z]|^  $word, +--[a-z-]+ [A-Z]"
}

# The few words that an option takes.
_hutch_values() {
	case $1 in
	--for) echo exit line= port= ;;
	--filter) echo label= state= name= ;;
	--keep) echo head tail ;;
	--keep-alive) echo processes ;;
	--on-exit) echo stop keep ;;
	--disk) echo ram ;;
	--image-dax) echo auto never inode always ;;
	--net) echo none internet passt tap= ;;
	--pull) echo missing always never ;;
	esac
}

# _hutch_image HUTCH CUR WORDS SUB: verbs of its own, then names or files.
_hutch_image() {
	if [ "$3" -eq 0 ]; then
		mapfile -t COMPREPLY < <(compgen -W "$("$1" help image \
			2>/dev/null | sed -n 's/^hutch image \([a-z]*\) .*/\1/p')" \
			-- "$2")
		return 0
	fi
	case $4 in
	import | load)
		[ "$3" -eq 1 ] || return 0
		compopt -o filenames
		mapfile -t COMPREPLY < <(compgen -f -- "$2")
		;;
	build)
		[ "$3" -eq 1 ] || return 0
		compopt -o filenames
		mapfile -t COMPREPLY < <(compgen -W "debian node" -- "$2"
			compgen -f -- "$2")
		;;
	inspect | show | rm | remove)
		# A colon parts words for bash: only ids are sure to come whole.
		mapfile -t COMPREPLY < <(compgen -W \
			"$("$1" image list -q 2>/dev/null)" -- "$2")
		;;
	esac
}

# _hutch_subs HUTCH CUR WORDS VERB: verbs of its own, then names of VMs; what
# comes behind these is not ours to know.
_hutch_subs() {
	case $3 in
	0)
		mapfile -t COMPREPLY < <(compgen -W "$("$1" help "$4" \
			2>/dev/null | sed -n "s/^hutch $4 \([a-z]*\) .*/\1/p")" \
			-- "$2")
		;;
	1)
		mapfile -t COMPREPLY < <(compgen -W \
			"$("$1" list -q 2>/dev/null)" -- "$2")
		;;
	esac
}

_hutch() {
	local cmd=$1 cur=$2 prev=$3 verb='' vm='' i words=0 dashes=no

	COMPREPLY=()
	for ((i = 1; i < COMP_CWORD; i++)); do
		if [ $dashes = yes ]; then
			continue
		elif [ "${COMP_WORDS[i]}" = -- ]; then
			dashes=yes
		elif [[ ${COMP_WORDS[i]} = -* ]]; then
			[ -z "$verb" ] ||
				! _hutch_takes_value "$cmd" "$verb" \
					"${COMP_WORDS[i]}" || i=$((i + 1))
		elif [ -z "$verb" ]; then
			verb=${COMP_WORDS[i]}
		else
			[ $words -gt 0 ] || vm=${COMP_WORDS[i]}
			words=$((words + 1))
		fi
	done

	# What follows "--" is a command in a VM: nothing here knows it.
	[ $dashes = no ] || return 0
	if [ -z "$verb" ]; then
		mapfile -t COMPREPLY < <(compgen -W \
			"$(_hutch_verbs "$cmd") --help --version" -- "$cur")
		return 0
	fi
	if _hutch_takes_value "$cmd" "$verb" "$prev"; then
		case $prev in
		--env-file | --kernel)
			compopt -o filenames
			mapfile -t COMPREPLY < <(compgen -f -- "$cur")
			;;
		--net)
			compopt -o filenames
			mapfile -t COMPREPLY < <(compgen -W \
				"$(_hutch_values "$prev")" -- "$cur"
				compgen -f -X '!*.json' -- "$cur")
			;;
		--creds)
			mapfile -t COMPREPLY < <(compgen -P env: -A variable \
				-- "${cur#env:}")
			;;
		--env | -e | -[!-]*e)
			mapfile -t COMPREPLY < <(compgen -e -- "$cur")
			;;
		--signal | --stop-signal | -s | -[!-]*s)
			mapfile -t COMPREPLY < <(compgen -A signal -- "$cur")
			;;
		*)
			mapfile -t COMPREPLY < <(compgen -W \
				"$(_hutch_values "$prev")" -- "$cur")
			;;
		esac
		return 0
	fi
	if [[ $cur = -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W \
			"$(_hutch_options "$cmd" "$verb")" -- "$cur")
		return 0
	fi
	case $verb in
	image)
		_hutch_image "$cmd" "$cur" "$words" "$vm"
		;;
	fs | net)
		_hutch_subs "$cmd" "$cur" "$words" "$verb"
		;;
	backup | restore)
		case $words in
		0)
			mapfile -t COMPREPLY < <(compgen -W \
				"$("$cmd" list -q 2>/dev/null)" -- "$cur")
			;;
		2)
			compopt -o filenames
			mapfile -t COMPREPLY < <(compgen -f -- "$cur")
			;;
		esac
		;;
	cp)
		# A colon parts words for bash: only files here are sure.
		[ "$words" -le 1 ] || return 0
		compopt -o filenames
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		;;
	help)
		mapfile -t COMPREPLY < <(compgen -W "$(_hutch_verbs "$cmd")" \
			-- "$cur")
		;;
	run)
		# A name that is whole only as far as its colon is no help.
		[ $words -eq 0 ] || return 0
		mapfile -t COMPREPLY < <(compgen -W \
			"$("$cmd" image list 2>/dev/null |
				sed -n '2,$s/:latest .*\|^- .*\| .*//p')" -- "$cur")
		;;
	exec | start | events | forward | ports)
		[ $words -eq 0 ] || return 0
		;;&
	ps | attach | logs | wait)
		[ $words -le 1 ] || return 0
		;;&
	ps | attach | logs | wait | kill | drop)
		[ $words -eq 0 ] || {
			mapfile -t COMPREPLY < <(compgen -W \
				"$("$cmd" ps -q "$vm" 2>/dev/null)" -- "$cur")
			return 0
		}
		;;&
	exec | start | events | ps | attach | logs | wait | kill | drop | \
		stop | inspect | rm | forward | ports)
		mapfile -t COMPREPLY < <(compgen -W \
			"$("$cmd" list -q 2>/dev/null)" -- "$cur")
		;;
	esac
}

complete -F _hutch hutch
