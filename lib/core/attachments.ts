import * as z from 'zod'
import { must } from '#lib/core/fields.ts'

const ATTACHMENT_BYTES_MAX = 5 * 1024 * 1024
/** Limit of a request with an attachment, in base64, and some text. */
export const ATTACHMENT_BODY_BYTES_MAX = Math.ceil(ATTACHMENT_BYTES_MAX / 3) * 4 + 32 * 1024

/** Types of attachments with the bytes that such a file begins with. */
const ATTACHMENT_BEGINNINGS = {
  'application/pdf': [0x25, 0x50, 0x44, 0x46, 0x2d],
  'image/png': [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a],
  'image/jpeg': [0xff, 0xd8, 0xff],
} as const
export type AttachmentType = keyof typeof ATTACHMENT_BEGINNINGS
export const ATTACHMENT_TYPES = Object.keys(ATTACHMENT_BEGINNINGS) as AttachmentType[]

/** Field of a request: a file in base64. Its type is judged by `readAttachmentType`. */
export const attachmentField = z
  .base64(must('be a file in base64'))
  .min(1, must('be a file in base64'))
  .refine(
    // Each sign of padding stands for a byte less.
    file => (file.length * 3) / 4 - (file.split('=').length - 1) <= ATTACHMENT_BYTES_MAX,
    must(`have at most ${ATTACHMENT_BYTES_MAX / 1024 / 1024} MB`),
  )

/** Returns the type of a file by its bytes; null if it is none of those that are accepted. */
export function readAttachmentType(file: Uint8Array): AttachmentType | null {
  const begins = (type: AttachmentType) =>
    ATTACHMENT_BEGINNINGS[type].every((byte, index) => file[index] === byte)
  return ATTACHMENT_TYPES.find(begins) ?? null
}
