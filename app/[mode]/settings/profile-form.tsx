'use client'

import { useRouter } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApi } from '#components/form/api.ts'
import { editFormProps, useForm } from '#components/form/form.ts'
import { SaveButton } from '#components/form/save.tsx'
import { Field } from '#components/ui/field.tsx'
import { profileChange } from '#lib/people/schema.ts'

/** The form requires a name; the API does not. */
const schema = profileChange.test.required({ full_name: true })

export function ProfileForm({ name }: { name: string }) {
  const t = useTranslations('settings')
  const api = useApi()
  const router = useRouter()
  const [stored, setStored] = useState(name)
  const [current, setCurrent] = useState(name)
  const [isSaved, setSaved] = useState(false)
  const form = useForm({
    schema,
    read: data => ({ full_name: String(data.get('full_name')).trim() || undefined }),
    send: async body => {
      await api.send('PATCH', '/dashboard/profile', { body })
      setStored(body.full_name)
      setCurrent(body.full_name)
      setSaved(true)
      router.refresh()
    },
  })
  const isUnchanged = current === stored
  return (
    <form
      {...editFormProps(form, isUnchanged, data => {
        setSaved(false)
        setCurrent(String(data.get('full_name')).trim())
      })}
      className="grid gap-5"
    >
      <Field
        label={t('profile.name')}
        name="full_name"
        maxLength={100}
        autoComplete="name"
        defaultValue={name}
        problem={form.problems.full_name ? t('profile.nameInvalid') : null}
      />
      <SaveButton
        isBusy={form.isBusy}
        isSaved={isSaved}
        failure={form.failure}
        isUnchanged={isUnchanged}
      />
    </form>
  )
}
