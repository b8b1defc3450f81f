import type { PixKeyType } from './pix-key.ts'

/** A key in DICT form, written so that a person can compare it with what they were told. */
export function formatPixKey(type: PixKeyType, key: string): string {
  switch (type) {
    case 'cpf':
      return key.replace(/^(.{3})(.{3})(.{3})(.{2})$/, '$1.$2.$3-$4')
    case 'cnpj':
      return key.replace(/^(.{2})(.{3})(.{3})(.{4})(.{2})$/, '$1.$2.$3/$4-$5')
    case 'phone':
      return key.replace(/^\+55(\d\d)(\d{4,5})(\d{4})$/, '+55 ($1) $2-$3')
    case 'email':
    case 'random':
      return key
  }
}
