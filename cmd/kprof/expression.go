package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"kprof/perfevent/format/expr"
)

// parseExpr parses the expression that a flag is given, nil where it is not given.
func parseExpr(flag, src string) (*expr.Expr, error) {
	if src == "" {
		return nil, nil
	}
	x, err := expr.Parse(src)
	if err != nil {
		return nil, usageError{fmt.Errorf("%s: %w", flag, exprError(err))}
	}
	return x, nil
}

// placeError is an error whose place in an expression is shown below it.
type placeError struct {
	text string
	expr *expr.Error
}

func (e *placeError) Error() string { return e.text }
func (e *placeError) Unwrap() error { return e.expr }

// exprError is an error of an expression in one line; the place is for showCaret.
func exprError(err error) error {
	var e *expr.Error
	if errors.As(err, &e) && !errors.As(err, new(*placeError)) {
		return &placeError{strings.Replace(err.Error(), e.Error(), e.Reason, 1), e}
	}
	return err
}

// showCaret shows the place in an expression that an error is about.
func showCaret(err error) {
	var e *expr.Error
	if errors.As(err, &e) {
		fmt.Fprintln(textOutput(os.Stderr), e.Caret())
	}
}
