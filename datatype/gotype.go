package datatype

import "reflect"

// Of returns the type of values of the Go type T. Structs have their fields in
// order, and padding and blank fields are no part of the data; a struct of two
// numbers is a pair. Types with pointers are refused.
func Of[T any]() (*Type, error) { return OfGo(reflect.TypeFor[T]()) }

var ofKind = map[reflect.Kind]*Type{
	reflect.Bool: Bool,
	reflect.Int:  Int64, reflect.Int8: Int8, reflect.Int16: Int16, reflect.Int32: Int32, reflect.Int64: Int64,
	reflect.Uint: Uint64, reflect.Uint8: Uint8, reflect.Uint16: Uint16, reflect.Uint32: Uint32, reflect.Uint64: Uint64,
	reflect.Uintptr: Uint64, reflect.Float32: Float32, reflect.Float64: Float64,
	reflect.Complex64: Complex64, reflect.Complex128: Complex128,
}

// OfGo is Of for a type known at run time.
func OfGo(g reflect.Type) (*Type, error) {
	if g == nil {
		return nil, bad("Of", ErrType, "there is no type: nil was passed")
	}
	if t := ofKind[g.Kind()]; t != nil {
		return t, nil
	}
	switch g.Kind() {
	case reflect.Array:
		elem, err := OfGo(g.Elem())
		if err != nil {
			return nil, err
		}
		return Contiguous(g.Len(), elem)
	case reflect.Struct:
		return ofStruct(g)
	}
	return nil, bad("Of", ErrType, "%v is not of fixed size without pointers", g)
}

func ofStruct(g reflect.Type) (*Type, error) {
	var ones, displs []int
	var types []*Type
	for i := range g.NumField() {
		f := g.Field(i)
		t, err := OfGo(f.Type)
		if err != nil {
			return nil, bad("Of", ErrType, "field %s of %v: %v is not of fixed size without pointers", f.Name, g,
				f.Type)
		}
		if f.Name == "_" {
			continue
		}
		ones, displs, types = append(ones, 1), append(displs, int(f.Offset)), append(types, t)
	}
	t, err := Struct(ones, displs, types)
	if err != nil {
		return nil, err
	}
	if len(types) == 2 && numeric(types[0].kind) && integral(types[1].kind) && types[0].parts == nil &&
		types[1].parts == nil {
		t = pair(types[0], types[1])
	}
	if t.lb != 0 || t.ub != int(g.Size()) {
		return Resized(t, 0, int(g.Size()))
	}
	return t, nil
}

// numeric and integral say which kinds the value and the index of a pair have.
func numeric(k Kind) bool { return k >= KindInt8 && k <= KindFloat64 }

func integral(k Kind) bool { return k >= KindInt8 && k <= KindUint64 }
