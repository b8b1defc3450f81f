import type { PixKeyType } from './pix-key.ts'
import { formatTaxId } from './tax-id.ts'

export function formatPixKey(type: PixKeyType, key: string): string {
  switch (type) {
    case 'cpf':
    case 'cnpj':
      return formatTaxId(key)
    case 'phone':
      return key.replace(/^\+55(\d\d)(\d{4,5})(\d{4})$/, '+55 ($1) $2-$3')
    case 'email':
    case 'random':
      return key
  }
}
