package expr

// glob reports whether all of s is what the pattern says: * is any text, ? any byte,
// [a-z] one of a set and [!a-z] none of it, as in the kernel's glob_match. It takes
// at most the product of both lengths in steps.
func glob[T string | []byte](s T, pattern string) bool {
	star, again := -1, 0
	i, j := 0, 0
	for i < len(s) {
		if j < len(pattern) && pattern[j] == '*' {
			star, again = j, i
			j++
			continue
		}
		if j < len(pattern) {
			if ok, n := one(s[i], pattern[j:]); ok {
				i++
				j += n
				continue
			}
		}
		if star < 0 {
			return false
		}
		again++
		i, j = again, star+1
	}
	for j < len(pattern) && pattern[j] == '*' {
		j++
	}
	return j == len(pattern)
}

// one matches a byte with the first element of a pattern, which has n bytes.
func one(c byte, pattern string) (ok bool, n int) {
	switch pattern[0] {
	case '?':
		return true, 1
	case '\\':
		if len(pattern) > 1 {
			return c == pattern[1], 2
		}
	case '[':
		in, end := class(c, pattern)
		if end > 0 {
			return in, end
		}
	}
	return c == pattern[0], 1
}

// class matches a byte with [set]; end is 0 when the bracket is not closed, and
// then an ordinary byte.
func class(c byte, pattern string) (in bool, end int) {
	i := 1
	negated := i < len(pattern) && (pattern[i] == '!' || pattern[i] == '^')
	if negated {
		i++
	}
	for first := true; i < len(pattern); first = false {
		if pattern[i] == ']' && !first {
			return in != negated, i + 1
		}
		lo, hi := pattern[i], pattern[i]
		if i+2 < len(pattern) && pattern[i+1] == '-' && pattern[i+2] != ']' {
			hi = pattern[i+2]
			i += 2
		}
		i++
		in = in || lo <= c && c <= hi
	}
	return false, 0
}
